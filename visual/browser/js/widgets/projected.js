// Whether something is shown on a projector, and how large a pixel of 1280 x 720 is there (as in projector.css).

export const projected = {
  has: (element) => Boolean(element.closest('.present')),
  get scale() {
    return Math.max(1, Math.min(window.innerWidth / 1280, window.innerHeight / 720));
  },
};
