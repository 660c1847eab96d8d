import type { Hir } from '@svc/contracts'
import type { Doc } from '../doc/doc.ts'
import { call, code } from '../typescript/code.ts'
import { type Emitter, typeOf } from '../typescript/emitter.ts'
import { closed } from '../typescript/expressions.ts'
import { literal, propertyKey } from '../typescript/names.ts'
import { ANY, isNamed } from '../typescript/value-types.ts'
import { attributeName, camelCase, componentAttributeName, eventName, kebabCase } from './attribute-names.ts'
import { handlerCode, storingHandler } from './handlers.ts'
import type { Primitive } from './primitives.ts'
import { placeholders, textParts, textValue } from './text.ts'
import type { WebAttribute } from './tree.ts'

/** Kind of the element to which the attributes belong. */
export type AttributeOwner =
  | { readonly kind: 'intrinsic'; readonly primitive: Primitive | null }
  | { readonly kind: 'component'; readonly view: Hir.View | undefined }
  | { readonly kind: 'island' }

/** HTML attributes that are numbers in React's types. */
const NUMERIC: ReadonlySet<string> = new Set(
  'rows cols colSpan rowSpan size span start tabIndex maxLength minLength'.split(' ')
)

export function attributesOf(e: Emitter, element: Hir.Element, owner: AttributeOwner): WebAttribute[] {
  switch (owner.kind) {
    case 'island':
      return element.attributes.map(each => islandProp(e, each))
    case 'component': {
      const properties = new Map(owner.view?.properties.map(({ name, type }) => [name, type]))
      return element.attributes.flatMap(each => componentAttribute(e, element, each, properties))
    }
    case 'intrinsic':
      return intrinsicAttributes(e, element, owner.primitive)
  }
}

/** Returns an island property: a string unchanged, other values as JSON. */
function islandProp(e: Emitter, { name, value }: Hir.Attribute): WebAttribute {
  const prop = `data-prop-${kebabCase(name)}`
  if (value === null) return { name: prop, nodes: [], code: '"true"' }
  const nodes = [value]
  if (value.kind === 'Str') return { name: prop, nodes, code: JSON.stringify(value.value) }
  const made = closed(e, value)
  return { name: prop, nodes, code: isNamed(typeOf(e, value), 'str') ? made.doc : call('JSON.stringify', made.doc).doc }
}

/** Types of the properties of a component; null for those without an annotation. */
type Properties = ReadonlyMap<string, Hir.Type | null>

function componentAttribute(
  e: Emitter,
  element: Hir.Element,
  { name, value }: Hir.Attribute,
  properties: Properties
): WebAttribute[] {
  if (name === 'bind' && value !== null) return boundTo(e, element, value)
  const type = properties.get(name)
  const nodes = value === null ? [] : [value]
  if (type !== undefined && type !== null) {
    const isHandler = type.kind === 'fn' && value !== null
    const use = { argumentTypes: type.kind === 'fn' ? type.params : [], isSubmit: false }
    return [{ name, nodes, code: isHandler ? handlerCode(e, value, use).doc : valueCode(e, value) }]
  }
  const own = type === null ? name : componentAttributeName(name)
  const isEvent = value !== null && eventName(name) !== null
  return [{ name: own, nodes, code: isEvent ? handlerCode(e, value).doc : valueCode(e, value) }]
}

function intrinsicAttributes(e: Emitter, element: Hir.Element, primitive: Primitive | null): WebAttribute[] {
  const found: WebAttribute[] = []
  const style: [name: string, value: Doc][] = Object.entries(primitive?.style ?? {}).map(([key, value]) => [
    key,
    literal(value)
  ])
  const hasChildren = (element.children ?? []).length > 0
  let className: Doc | null =
    primitive === null || primitive.className === '' ? null : JSON.stringify(primitive.className)
  let ownStyle: Doc | null = null
  const classNodes: Hir.Expr[] = []
  const styleNodes: Hir.Expr[] = []
  // Attributes in program order, after those of the primitive.
  let classPosition = 0
  let stylePosition = 0
  for (const { name: written, value } of element.attributes) {
    const name = primitive?.attributes?.[written] ?? attributeName(written)
    const property = primitive?.styles?.[written]
    if (written === 'bind' && value !== null) found.push(...boundTo(e, element, value))
    else if (primitive?.contentAttribute === written && !hasChildren) continue
    else if (element.tag === 'heading' && written === 'level' && primitive !== null) continue
    else if (property !== undefined && value !== null) {
      style.push([property, closed(e, value).doc])
      styleNodes.push(value)
    } else if (name === 'className' && value !== null) {
      if (className === null) classPosition = found.length
      className = joinedClasses(className, classCode(e, value))
      classNodes.push(value)
    } else if (name === 'style' && value !== null) {
      if (style.length === 0) stylePosition = found.length
      styleNodes.push(value)
      if (value.kind === 'Str') style.push(...declarations(value.value))
      else ownStyle = closed(e, value).doc
    } else if (name === 'onSubmit' && value !== null && isHandledForm(element)) {
      const code = handlerCode(e, value, { argumentTypes: [ANY], isSubmit: true }).doc
      found.push({ name, nodes: [value], code })
    } else found.push({ name, nodes: value === null ? [] : [value], code: intrinsicValue(e, name, written, value) })
  }
  const styleCode = style.length === 0 ? ownStyle : recordOf(style, ownStyle)
  if (styleCode !== null) found.splice(stylePosition, 0, { name: 'style', nodes: styleNodes, code: styleCode })
  const classIndex = classPosition + (styleCode !== null && stylePosition < classPosition ? 1 : 0)
  if (className !== null) found.splice(classIndex, 0, { name: 'className', nodes: classNodes, code: className })
  return found
}

/** True for a form that the program handles. One with an address is sent to it. */
function isHandledForm({ tag, attributes }: Hir.Element): boolean {
  return tag === 'form' && !attributes.some(({ name }) => name === 'action')
}

function recordOf(entries: readonly (readonly [name: string, value: Doc])[], rest: Doc | null): Doc {
  const own = entries.map(([key, value]): Doc => [`${propertyKey(key)}: `, value])
  const parts = rest === null ? own : [...own, ['...', rest]]
  return ['{ ', parts.map((part, index): Doc => [index === 0 ? '' : ', ', part]), ' }']
}

function intrinsicValue(e: Emitter, name: string, written: string, value: Hir.Expr | null): Doc {
  if (value !== null && eventName(written) !== null) return handlerCode(e, value).doc
  if (value?.kind === 'Str' && NUMERIC.has(name) && /^\d+$/.test(value.value)) return value.value
  return valueCode(e, value)
}

function valueCode(e: Emitter, value: Hir.Expr | null): Doc {
  if (value === null) return 'true'
  return value.kind === 'Str' ? JSON.stringify(value.value) : closed(e, value).doc
}

/** Returns the code of a class attribute, whose string may have placeholders. */
function classCode(e: Emitter, value: Hir.Expr): Doc {
  if (value.kind !== 'Str') return closed(e, value).doc
  const parts = textParts(value.value, placeholders(e, value))
  return parts.every(part => 'text' in part) ? JSON.stringify(value.value) : textValue(parts)
}

function joinedClasses(own: Doc | null, added: Doc): Doc {
  if (own === null) return added
  if (typeof own !== 'string' || !own.startsWith('"')) return ['`${', own, '} ${', added, '}`']
  const text = JSON.parse(own) as string
  if (typeof added === 'string' && added.startsWith('"'))
    return JSON.stringify(`${text} ${JSON.parse(added) as string}`)
  return ['`', text, ' ${', added, '}`']
}

/** Parses CSS declarations into record entries. */
function declarations(text: string): [string, Doc][] {
  return text.split(';').flatMap((declaration): [string, Doc][] => {
    const at = declaration.indexOf(':')
    if (at === -1) return []
    const name = declaration.slice(0, at).trim()
    const key = name.startsWith('--') ? name : camelCase(name.replace(/^-/, '').replaceAll('-', '_'))
    return [[key, literal(declaration.slice(at + 1).trim())]]
  })
}

/** Translates `bind={x}` to a value and its change handler. */
function boundTo(e: Emitter, element: Hir.Element, target: Hir.Expr): WebAttribute[] {
  const kind = element.attributes.find(each => each.name === 'type')?.value
  const inputType = kind?.kind === 'Str' ? kind.value : null
  if (element.tag === 'input' && inputType === 'file') return boundToFiles(e, target)
  const isCheckbox = inputType === 'checkbox' || inputType === 'switch'
  const type = typeOf(e, target)
  const value = closed(e, target)
  const name = isCheckbox || isNamed(type, 'bool') ? 'checked' : 'value'
  const isNumber = isNamed(type, 'int', 'float')
  const changed = storingHandler(e, target, event => {
    const read = `${event}.target.${name}`
    if (isNamed(type, 'int') && !e.file.build.isDocument) return call(e.file.helper('typed_int'), read)
    return code(isNumber ? `Number(${read})` : read)
  })
  return [
    { name, nodes: [target], code: value.doc },
    { name: 'onChange', nodes: [target], code: changed.doc }
  ]
}

/** Browsers set the value of an input for files. A program can only empty it. */
function boundToFiles(e: Emitter, target: Hir.Expr): WebAttribute[] {
  const isMany = isNamed(typeOf(e, target), 'List')
  const picked = e.file.helper(isMany ? 'picked_files' : 'picked_file')
  const emptied = call(e.file.helper('empty_input'), 'input', closed(e, target).doc)
  const changed = storingHandler(e, target, event => call(picked, `${event}.target`))
  return [
    { name: 'ref', nodes: [target], code: ['input => ', emptied.doc] },
    { name: 'onChange', nodes: [target], code: changed.doc }
  ]
}
