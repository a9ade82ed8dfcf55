"""The page of judges, for the frame of a study's pages."""

from studies.design.steps import Room, StudyPage, register_page

register_page(
    StudyPage(
        "judges",
        "Judges",
        "machine_raters:judges",
        25,
        guide="judges",
        room=Room.RESULTS,
        under="machines",
    )
)
