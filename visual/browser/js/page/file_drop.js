// A file dropped anywhere on the page, with a notice while it hovers.

export class FileDrop {
  constructor(element, notice, take) {
    Object.assign(this, { element, notice });
    this.inside = 0;                         // elements that the file is over
    document.addEventListener('dragenter', (event) => this.hover(event, 1));
    document.addEventListener('dragleave', (event) => this.hover(event, -1));
    document.addEventListener('dragover', (event) => this.hover(event, 0));
    document.addEventListener('drop', (event) => {
      this.hover(event, -this.inside);
      if (this.carries(event)) take(event.dataTransfer.files[0]);
    });
  }

  carries(event) {
    return this.element.isConnected && event.dataTransfer?.types.includes('Files');
  }

  hover(event, by) {
    if (!this.carries(event)) return;
    event.preventDefault();
    this.inside = Math.max(this.inside + by, 0);
    this.notice.hidden = !this.inside;
  }
}
