// The address carries the state: it is kept true to the page, and a link's place is gone to.

import { AddressLink } from './address_link.js';
import { LinkedPlace } from './linked_place.js';
import { Projector } from './projector.js';

export function bindAddressBar(viewer) {
  const link = new AddressLink(viewer, document.getElementById('share'));
  window.rheoscope = link.handle();          // one address a page, and the page's only global
  document.getElementById('pages').addEventListener('click', () => link.touch());
  viewer.part('guessing').addEventListener('change', () => link.touch());
  new Projector(link);
  new LinkedPlace(link);
}
