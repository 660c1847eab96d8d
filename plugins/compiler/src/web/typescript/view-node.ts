import { type Doc, layout } from '../../doc/doc.ts'
import { isAttributeText, type JsxAttribute, type JsxChild, jsxElement } from './jsx.ts'
import { type Resolve, textChild } from './view-text.ts'

/** A part of a view. Its expressions are TypeScript. */
export type ViewNode =
  | {
      readonly kind: 'element'
      readonly tag: string
      readonly attributes: readonly ViewAttribute[]
      readonly children: readonly ViewNode[]
    }
  | { readonly kind: 'fragment'; readonly children: readonly ViewNode[] }
  /** The string as written, with placeholders. */
  | { readonly kind: 'text'; readonly content: string }
  | { readonly kind: 'expression'; readonly code: Doc }
  | {
      readonly kind: 'island'
      readonly name: string
      readonly props: readonly ViewAttribute[]
      /** Number of children in the program, which are not shown. */
      readonly ignored: number
    }

export interface ViewAttribute {
  readonly name: string
  /** TypeScript code. A string is a double-quoted literal. */
  readonly code: Doc
}

/** Prints a view as JSX. `resolve` returns the values of placeholders. */
export function viewDoc(node: ViewNode, resolve: Resolve): Doc {
  switch (node.kind) {
    case 'text':
      return textChild(node.content, resolve)
    case 'expression':
      return ['{', node.code, '}']
    case 'fragment':
      return jsxElement(
        '',
        [],
        node.children.map(child => viewChild(child, resolve))
      )
    case 'element':
      return jsxElement(
        node.tag,
        node.attributes.map(jsxAttribute),
        node.children.map(child => viewChild(child, resolve))
      )
    case 'island':
      return islandDoc(node.name, node.props)
  }
}

/** Prints the mount point of an island. */
function islandDoc(name: string, props: readonly ViewAttribute[]): Doc {
  return jsxElement('div', [{ name: 'data-island', value: { text: name } }, ...props.map(jsxAttribute)], [])
}

function viewChild(node: ViewNode, resolve: Resolve): JsxChild {
  const isElement = node.kind === 'element' || node.kind === 'fragment' || node.kind === 'island'
  return { doc: viewDoc(node, resolve), isElement }
}

function jsxAttribute({ name, code }: ViewAttribute): JsxAttribute {
  if (code === 'true') return { name, value: null }
  const text = typeof code === 'string' ? textOf(code) : null
  return text !== null && isAttributeText(text) ? { name, value: { text } } : { name, value: { code } }
}

/** Returns the value of a double-quoted literal; null for other code. */
function textOf(code: string): string | null {
  return /^"(?:[^"\\]|\\.)*"$/.test(code) ? (JSON.parse(code) as string) : null
}

/** Prints code on separate lines. */
export function codeText(code: Doc): string {
  return layout(code, 2)
}
