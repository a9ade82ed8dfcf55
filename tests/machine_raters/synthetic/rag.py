"""A small study from the RAG template: questions, passages that were retrieved, and answers."""

from django.contrib.auth.models import User

from annotation.services.planning import plan_hits
from studies.design.protocols import create_from_protocol, protocol_named
from studies.models import Dataset, Generation, Instance, Study, System
from studies.services import use_dataset_systems
from tests.studies.factories import open_knowingly

# Their words differ, so that a query with a passage's words brings back that passage.
PASSAGES = (
    "The harbour froze in January and ferries stopped for nine days.",
    "Bees orient themselves by polarised light when clouds hide the sun.",
    "The treaty of 1648 ended thirty years of war in central Europe.",
    "Basalt columns form when thick lava cools slowly and contracts.",
)


def make_rag_study(
    *, passages: tuple[str, ...] = PASSAGES, owner: User | None = None, protocol: str = "rag"
) -> Study:
    """Create an open study of two systems' answers to one question for each passage."""
    owner = owner or User.objects.create_user("rag-owner", is_staff=True)
    study = create_from_protocol(protocol=protocol_named(protocol), owner=owner)
    study.dataset = Dataset.objects.create(name="Passages")
    study.save()
    systems = [System.objects.create(dataset=study.dataset, name=f"rag-{i}") for i in range(2)]
    for number, passage in enumerate(passages):
        turns = [
            {"role": "Question", "content": f"What does text {number} tell?"},
            {"role": "Passage", "content": passage},
        ]
        instance = Instance.objects.create(
            dataset=study.dataset, key=f"passage-{number}", messages=turns
        )
        for system in systems:
            Generation.objects.create(
                instance=instance, system=system, sample_index=0, text=f"{system}: {passage}"
            )
    use_dataset_systems(study=study)
    study = Study.objects.get(pk=study.pk)
    plan_hits(study=study)
    return open_knowingly(study)


def make_study_of_two_questions(owner: User) -> Study:
    """Create a study of pairs whose two criteria are asked about in words that tell them apart."""
    study = make_rag_study(owner=owner, protocol="rag-pairs")
    for criterion in study.criteria.all():
        criterion.question = f"Question about {criterion.name}?"
        criterion.save()
    return study
