// A picture of the tree as a file: plotly's SVG with the page's colour around the labels, as on the page.

const SCALE = 2;                             // pixels of a PNG for one of the page

// No line runs through a letter: in the page viewer.css says the same.
function haloed(svg, paper) {
  const look = `paint-order:stroke;stroke:${paper};stroke-width:3px;stroke-linejoin:round`;
  return svg.replace('>', `><style>.textpoint text{${look}}</style>`);
}

async function drawn(svg, { width, height }) {
  const image = document.createElement('img'), canvas = document.createElement('canvas');
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  Object.assign(canvas, { width: width * SCALE, height: height * SCALE });
  canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((give, fail) => {
    canvas.toBlob((blob) => (blob ? give(blob) : fail(new Error('too large for a picture'))), 'image/png');
  });
}

export const pictureFile = {
  async of(figure, format, paper) {          // text or a Blob
    const { width, height } = figure.layout;
    const address = await Plotly.toImage(figure, { format: 'svg', width, height });
    const svg = haloed(decodeURIComponent(address.slice(address.indexOf(',') + 1)), paper);
    return format === 'svg' ? svg : drawn(svg, { width, height });
  },
};
