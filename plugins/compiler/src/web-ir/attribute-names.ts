/** Attributes whose React names are irregular. */
const NAMES: Readonly<Record<string, string>> = {
  class: 'className',
  raw_class: 'className',
  for: 'htmlFor',
  readonly: 'readOnly',
  tabindex: 'tabIndex',
  maxlength: 'maxLength',
  minlength: 'minLength',
  colspan: 'colSpan',
  rowspan: 'rowSpan',
  autofocus: 'autoFocus',
  autocomplete: 'autoComplete',
  novalidate: 'noValidate',
  srcset: 'srcSet',
  crossorigin: 'crossOrigin',
  enctype: 'encType',
  viewbox: 'viewBox'
}

/** Events whose names consist of several words. */
const EVENTS: Readonly<Record<string, string>> = {
  keydown: 'KeyDown',
  keyup: 'KeyUp',
  mouseenter: 'MouseEnter',
  mouseleave: 'MouseLeave',
  mousedown: 'MouseDown',
  mouseup: 'MouseUp',
  mousemove: 'MouseMove',
  doubleclick: 'DoubleClick',
  dblclick: 'DoubleClick',
  touchstart: 'TouchStart',
  touchend: 'TouchEnd',
  pointerdown: 'PointerDown',
  pointerup: 'PointerUp'
}

/** Events whose names may directly follow `on`. */
const SHORT = /^on(click|change|input|submit|keydown|keyup|mouseenter|mouseleave|focus|blur|dblclick|scroll)$/

/** Returns the React name of an HTML or SVG attribute: `on:click`, `on_click` and `onclick` become `onClick`. */
export function attributeName(name: string): string {
  if (Object.hasOwn(NAMES, name)) return NAMES[name] as string
  const event = eventName(name)
  if (event !== null) return event
  if (/^(aria|data)[_-]/.test(name)) return name.replaceAll('_', '-')
  return name.includes('_') ? camelCase(name) : name
}

/** Returns the property name of an external component, which may be any name. */
export function componentAttributeName(name: string): string {
  if (Object.hasOwn(NAMES, name)) return NAMES[name] as string
  return eventName(name) ?? name
}

/** Returns the React name of an event; null for other attributes. */
export function eventName(name: string): string | null {
  const word = /^on[:_](\w+)$/.exec(name)?.[1] ?? SHORT.exec(name)?.[1]
  if (word === undefined) return null
  if (Object.hasOwn(EVENTS, word)) return `on${EVENTS[word]}`
  const camel = camelCase(word)
  return `on${camel.charAt(0).toUpperCase()}${camel.slice(1)}`
}

/** Converts a name to camel case: `linear_gradient` becomes `linearGradient`. */
export function camelCase(name: string): string {
  return name.replace(/_+([a-zA-Z0-9])/g, (_, letter: string) => letter.toUpperCase())
}

/** Converts a name to kebab case: `valueCount` and `value_count` become `value-count`. */
export function kebabCase(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
    .replaceAll('_', '-')
    .toLowerCase()
}
