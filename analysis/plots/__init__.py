"""Pictures of results: which there are, and which of them a folder's results allow."""

from plots import context, heatmap, ledger, pareto, results, roofline, style, timeline, utilisation

OF_SWEEP = [heatmap, context, pareto]  # each: NAME, slices(sweep), draw(slice, options)
OF_RUN = [context, utilisation, ledger, roofline, timeline]  # each: NAME, draw_run(run)


def draw(options):
    """({file name without suffix: rendered picture}, lines on what was left out). BadInput where nothing can be drawn."""
    folder = options.folder
    is_sweep, is_run = (folder / results.SWEEP).is_file(), (folder / results.SUMMARY).is_file()
    if not is_sweep and not is_run:
        raise results.BadInput(
            f"{folder} has neither {results.SWEEP} nor {results.SUMMARY}; make it with qfsim sweep or qfsim run, --out {folder}"
        )
    drawn, notes = {}, []
    if is_sweep:
        of_sweep(results.read_sweep(folder, options), options, drawn, notes)
    if is_run:
        of_run(folder, drawn, notes)
    if not drawn:
        raise results.BadInput(f"{folder} allows no picture: " + "; ".join(notes))
    return drawn, notes


def of_sweep(sweep, options, drawn, notes):
    for picture in OF_SWEEP:
        try:
            slices = picture.slices(sweep)
            for index, part in enumerate(slices if options.all else slices[:1]):
                name = picture.NAME + (part.suffix if options.all and len(slices) > 1 else "")
                drawn[name] = style.render(picture.draw(part, options))
        except results.NotHere as reason:
            notes.append(f"no {picture.NAME}: {reason}")
            continue
        if len(slices) > 1 and not options.all:
            notes.append(
                f"{picture.NAME}: of {slices[0].text}; {len(slices) - 1} more with --all, or one with --where"
            )


def of_run(folder, drawn, notes):
    run = results.read_run(folder)
    for picture in OF_RUN:
        try:
            drawn[picture.NAME] = style.render(picture.draw_run(run))
        except results.NotHere as reason:
            notes.append(f"no {picture.NAME}: {reason}")
        except KeyError as key:
            raise results.BadInput(
                f"{folder / results.SUMMARY}: the {picture.NAME} needs {key}, which is not there"
            )
