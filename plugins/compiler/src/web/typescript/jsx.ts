import { type Doc, group, hardline, indent, join, line, mustBreak, softline } from '../../doc/doc.ts'

/** A printed attribute; null if it has no value. */
export interface JsxAttribute {
  readonly name: string
  readonly value: { readonly text: string } | { readonly code: Doc } | null
}

/** A printed child. */
export interface JsxChild {
  readonly doc: Doc
  /** True for an element, which is printed on its own lines. */
  readonly isElement: boolean
}

/** Prints a JSX element; a fragment has an empty tag. */
export function jsxElement(tag: string, attributes: readonly JsxAttribute[], children: readonly JsxChild[]): Doc {
  const printed = attributes.map(attributeDoc)
  const isLong = printed.some(mustBreak)
  if (children.length === 0) {
    if (tag === '') return '<></>'
    if (printed.length === 0) return `<${tag} />`
    return group([
      `<${tag}`,
      indent([isLong ? hardline : line, join(isLong ? hardline : line, printed)]),
      isLong ? hardline : line,
      '/>'
    ])
  }
  const open: Doc =
    printed.length === 0
      ? `<${tag}>`
      : group([
          `<${tag}`,
          indent([isLong ? hardline : line, join(isLong ? hardline : line, printed)]),
          isLong ? hardline : softline,
          '>'
        ])
  const [only] = children
  if (children.length === 1 && only !== undefined && !only.isElement) {
    return group([open, indent([softline, only.doc]), softline, `</${tag}>`])
  }
  const docs = children.map(each => each.doc)
  return [open, indent([hardline, join(hardline, docs)]), hardline, `</${tag}>`]
}

function attributeDoc({ name, value }: JsxAttribute): Doc {
  if (value === null) return name
  return 'text' in value ? `${name}="${value.text}"` : [`${name}={`, value.code, '}']
}

/** True if a string can be the quoted value of an attribute. */
export function isAttributeText(text: string): boolean {
  return !/["&\n\r\t\\]/.test(text)
}
