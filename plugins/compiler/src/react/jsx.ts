import { type Doc, group, hardline, indent, join, line, mustBreak, softline } from '../doc/doc.ts'
import { code, type TypeScriptCode } from '../typescript/code.ts'
import { propertyKey } from '../typescript/names.ts'
import { textValue } from '../web-ir/text.ts'
import type { TextPart, WebAttribute, WebNode } from '../web-ir/tree.ts'
import { reactName, reactValue } from './react-names.ts'

/** Prints a part of a view as a TypeScript expression, in parentheses if it has several parts. */
export function jsxExpression(node: WebNode): TypeScriptCode {
  const doc = isElement(node) ? jsx(node) : withChildren('<>', [node], '</>')
  return code(hasParts(node) ? group(['(', indent([softline, doc]), softline, ')']) : doc)
}

/** Prints a part of a view as JSX. */
export function jsx(node: WebNode): Doc {
  switch (node.kind) {
    case 'text':
      return textChild(node.node.value, node.parts)
    case 'expression':
      return ['{', node.code, '}']
    case 'fragment':
      return node.children.length === 0 ? '<></>' : withChildren('<>', node.children, '</>')
    case 'element':
      return element(node.tag, node.attributes, node.children)
    case 'island':
      return element('div', [{ name: 'data-island', nodes: [], code: JSON.stringify(node.name) }, ...node.props], [])
  }
}

function isElement({ kind }: WebNode): boolean {
  return kind === 'element' || kind === 'fragment' || kind === 'island'
}

function hasParts(node: WebNode): boolean {
  if (!('children' in node)) return false
  const [only] = node.children
  return node.children.length > 1 || (only !== undefined && isElement(only))
}

function element(tag: string, attributes: readonly WebAttribute[], children: readonly WebNode[]): Doc {
  const printed = attributes.map(/^[a-z]/.test(tag) ? intrinsicAttribute : attribute)
  const isLong = printed.some(mustBreak)
  const list = indent([isLong ? hardline : line, join(isLong ? hardline : line, printed)])
  if (children.length === 0) {
    return printed.length === 0 ? `<${tag} />` : group([`<${tag}`, list, isLong ? hardline : line, '/>'])
  }
  const open = printed.length === 0 ? `<${tag}>` : group([`<${tag}`, list, isLong ? hardline : softline, '>'])
  return withChildren(open, children, `</${tag}>`)
}

/** Prints elements on their own lines, and a single text or expression between its tags. */
function withChildren(open: Doc, children: readonly WebNode[], close: string): Doc {
  const docs = children.map(jsx)
  const [only] = children
  if (children.length === 1 && only !== undefined && !isElement(only)) {
    return group([open, indent([softline, docs]), softline, close])
  }
  return [open, indent([hardline, join(hardline, docs)]), hardline, close]
}

/** Prints an attribute of an HTML or SVG element. TypeScript compares no attributes in a spread, such as one that React passes on. */
function intrinsicAttribute({ name, code }: WebAttribute): Doc {
  const known = reactName(name)
  if (known !== null) return attribute({ name: known, code: reactValue(known, textOf(code)) ?? code })
  return ['{...({ ', propertyKey(name), ': ', code, ' } as object)}']
}

function attribute({ name, code }: Pick<WebAttribute, 'name' | 'code'>): Doc {
  if (code === 'true') return name
  const text = textOf(code)
  return text !== null && isAttributeText(text) ? `${name}="${text}"` : [`${name}={`, code, '}']
}

/** Returns the value of a double-quoted literal; null for other code. */
function textOf(code: Doc): string | null {
  return typeof code === 'string' && /^"(?:[^"\\]|\\.)*"$/.test(code) ? (JSON.parse(code) as string) : null
}

/** True if a string can be the quoted value of an attribute. */
function isAttributeText(text: string): boolean {
  return !/["&\n\r\t\\]/.test(text)
}

function textChild(content: string, parts: readonly TextPart[]): Doc {
  const isPlain =
    content.trim() === content && content !== '' && parts.every(part => 'code' in part || isJsxText(part.text))
  if (isPlain) return parts.map(part => ('text' in part ? part.text : ['{', part.code, '}']))
  return ['{', textValue(parts), '}']
}

/** True if JSX shows a string unchanged. */
function isJsxText(text: string): boolean {
  return !/[{}<>&\n\r\t]|\s{2}/.test(text)
}
