/** Element to serialize. Text is escaped; characters that XML 1.0 forbids are left out. */
export interface XmlElement {
  readonly name: string
  readonly attributes: Readonly<Record<string, string>>
  readonly children: readonly (XmlElement | string)[]
}

type Child = XmlElement | string | null

/** Returns an element. Children that are null are left out. */
export function element(name: string, attributes: Readonly<Record<string, string>>, ...children: Child[]): XmlElement {
  return { name, attributes, children: children.filter(child => child !== null) }
}

/** Returns the document as UTF-8 text, indented except in elements with text. */
export function serialize(root: XmlElement): string {
  return `<?xml version="1.0" encoding="UTF-8"?>\n${write(root, '')}\n`
}

function write({ name, attributes, children }: XmlElement, indent: string): string {
  const start = Object.entries(attributes).map(([key, value]) => ` ${key}="${escaped(value)}"`)
  const open = `${indent}<${name}${start.join('')}`
  if (children.length === 0) return `${open}/>`
  const isMixed = children.some(child => typeof child === 'string')
  const inner = children.map(child =>
    typeof child === 'string' ? escaped(child) : write(child, isMixed ? '' : `${indent}  `)
  )
  return isMixed ? `${open}>${inner.join('')}</${name}>` : `${open}>\n${inner.join('\n')}\n${indent}</${name}>`
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  '\r': '&#13;'
}

function escaped(text: string): string {
  return allowed(text).replace(/[&<>"\r]/g, found => ENTITIES[found] ?? '')
}

const LONE_SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g

/** Returns text without the characters that XML 1.0 forbids (production 2); single surrogates become U+FFFD. */
export function allowed(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the forbidden ones
  return text.replace(LONE_SURROGATE, '\ufffd').replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '')
}
