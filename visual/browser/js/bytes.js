// Bytes as text and back, for messages that carry files.

function base64(blob) {
  return new Promise((resolve, reject) => {
    const reader = Object.assign(new FileReader(), { onerror: reject });
    reader.onload = () => resolve(reader.result.slice(reader.result.indexOf(',') + 1));
    reader.readAsDataURL(blob);
  });
}

function bytes(text) {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}
