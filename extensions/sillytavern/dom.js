// Elements without markup: texts of stories are data and never become HTML.

/**
 * An element.
 * @param {string} tag Its name
 * @param {Record<string, unknown>} [props] Attributes; `on…` adds a listener, `class` is a list
 * @param {...(Node|string|null|false)} children What is in it
 */
export function el(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name in element && typeof value !== 'string') element[name] = value;
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  element.append(...children.flat().filter((child) => child !== null && child !== false));
  return element;
}

/** Replaces what is in an element. */
export function fill(element, ...children) {
  element.replaceChildren(...children.flat().filter((child) => child !== null && child !== false));
}

/** A button in SillyTavern's style. */
export const button = (label, onclick, props = {}) =>
  el('button', { type: 'button', class: 'menu_button loreloom_button', onclick, ...props }, label);
