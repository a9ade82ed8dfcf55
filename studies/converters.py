"""How public ids stand in addresses: `path("s/<public_id:study_id>/", …)`."""

from django.urls import register_converter

from studies.identifiers import LENGTH


class PublicIdConverter:
    """Letters and digits only: whatever else stands there never reaches the database."""

    regex = f"[0-9a-z]{{{LENGTH}}}"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


register_converter(PublicIdConverter, "public_id")
