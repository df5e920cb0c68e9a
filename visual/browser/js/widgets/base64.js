// Bytes as text and back, for messages that carry files.

export const base64 = {
  encode(blob) {                             // a promise of the text
    return new Promise((resolve, reject) => {
      const reader = Object.assign(new FileReader(), { onerror: reject });
      reader.onload = () => resolve(reader.result.slice(reader.result.indexOf(',') + 1));
      reader.readAsDataURL(blob);
    });
  },

  decode(text) {
    return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  },
};
