import { camelCase } from './attribute-names.ts'

/** HTML element of a builtin primitive. */
export interface Primitive {
  readonly tag: string
  /** CSS class, in addition to the classes of the program. */
  readonly className: string
  readonly style: Readonly<Record<string, string>>
  /** HTML attributes, by their program names. */
  readonly attributes?: Readonly<Record<string, string>>
  /** Style properties, by the names of attributes. */
  readonly styles?: Readonly<Record<string, string>>
  /** Attribute whose value is shown if the element has no children. */
  readonly contentAttribute?: string
}

const BOX = { gap: 'gap', padding: 'padding', align: 'alignItems', justify: 'justifyContent' } as const

const PRIMITIVES: Readonly<Record<string, Primitive>> = {
  stack: { tag: 'div', className: 'stack', style: { display: 'flex', flexDirection: 'column' }, styles: BOX },
  column: { tag: 'div', className: 'column', style: { display: 'flex', flexDirection: 'column' }, styles: BOX },
  row: { tag: 'div', className: 'row', style: { display: 'flex', flexDirection: 'row' }, styles: BOX },
  wrap: { tag: 'div', className: 'wrap', style: { display: 'flex', flexWrap: 'wrap' }, styles: BOX },
  text: { tag: 'span', className: 'text', style: {}, contentAttribute: 'value' },
  heading: { tag: 'h1', className: 'heading', style: {}, contentAttribute: 'text' },
  link: { tag: 'a', className: 'link', style: {}, attributes: { to: 'href' }, contentAttribute: 'label' },
  image: { tag: 'img', className: 'image', style: {} },
  button: { tag: 'button', className: '', style: {}, contentAttribute: 'label' },
  panel: { tag: 'div', className: 'panel', style: {}, styles: BOX },
  card: { tag: 'div', className: 'card', style: {}, styles: BOX },
  list: { tag: 'ul', className: 'list', style: {}, styles: BOX },
  list_item: { tag: 'li', className: 'list-item', style: {} },
  overlay: { tag: 'div', className: 'overlay', style: { position: 'fixed', inset: '0' } },
  toast: { tag: 'div', className: 'toast', style: {}, contentAttribute: 'message' },
  drawer: { tag: 'aside', className: 'drawer', style: {} },
  modal: { tag: 'dialog', className: 'modal', style: {} }
}

/** Primitives that share their name with an SVG tag. */
const WITHIN_SVG: ReadonlySet<string> = new Set(['text', 'image'])

/** Returns the primitive of a tag written as a call; null for elements of HTML, SVG and the program. */
export function primitiveOf(tag: string, isCall: boolean, isWithinSvg: boolean): Primitive | null {
  if (!isCall || (isWithinSvg && WITHIN_SVG.has(tag)) || !Object.hasOwn(PRIMITIVES, tag)) return null
  return PRIMITIVES[tag] as Primitive
}

/** Returns the React tag of an HTML or SVG element. */
export function tagName(tag: string): string {
  return camelCase(tag)
}
