// "What is this?": the idea, the marks and the terms, over whichever page is shown.

export function bindIdeaDialog() {
  document.querySelector('[data-role=what]').addEventListener('click', () => {
    document.querySelector('[data-role=idea]').showModal();
  });
}
