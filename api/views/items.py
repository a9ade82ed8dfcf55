"""The items of a study, and its reference items."""

from typing import Any

from django.core.paginator import Paginator

from annotation.imports.uploads import stored_upload, upload_limits
from annotation.services.items import items_of, remove_item
from annotation.services.reference_units import ROLES, import_reference_units
from api.resources import Resource, endpoint
from api.serializers.items import (
    CreatedUnits,
    ItemPage,
    ItemQuery,
    ItemsQuery,
    ReferenceRows,
    ReferenceUnitSerializer,
)
from studies.models import Unit
from tiebreak.formats.confined import LINES

ITEMS_PER_PAGE = 100


class Items(Resource):
    tag = "items"

    @endpoint(query=ItemsQuery, gives=ItemPage)
    def list(self) -> dict[str, Any]:
        """Read a study's items.

        A page of 100 items that contain all words of `q`.
        """
        pages = Paginator(items_of(self.study(), self.values["q"]), ITEMS_PER_PAGE)
        items = pages.get_page(self.values["page"]).object_list
        return {"total": pages.count, "pages": pages.num_pages, "items": items}

    @endpoint(query=ItemQuery)
    def destroy(self) -> None:
        """Remove an item from a draft.

        Deletes it with its texts, and the plan of the tasks.
        """
        remove_item(study=self.study(), key=self.values["item"])


class ReferenceUnits(Resource):
    tag = "items"

    @endpoint(gives=ReferenceUnitSerializer, many=True)
    def list(self) -> Any:
        """Read a study's reference items.

        Training, qualification and gold checks, with the expected labels.
        """
        units = self.study().units.filter(role__in=ROLES)
        return units.select_related("instance").order_by("role", "pk")

    @endpoint(detail=False, takes=ReferenceRows, is_upload=True, gives=CreatedUnits, status=201)
    def file(self) -> dict[str, int]:
        """Add reference items from a file.

        All rows are stored, or none; `problems` of a refusal lists the lines.
        """
        study, role = self.study(), Unit.Role(self.values["role"])
        with stored_upload(self.values["rows"], LINES) as path:
            n = import_reference_units(study=study, role=role, path=path, limits=upload_limits())
        return {"created": n}
