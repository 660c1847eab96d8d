import { spellingFix } from '../../diagnostics/diagnostic.ts'
import type { Element, Expression } from '../../syntax/ast-expressions.ts'
import { nearName } from '../../syntax/near-name.ts'
import { ELEMENT } from '../builtin-types.ts'
import type { Context, Inference, Why } from '../context.ts'
import type { SignatureParam } from '../declare.ts'
import { checkMutable, reportDeprecated, reportUndefined } from '../resolve.ts'
import { ANY, type Type } from '../type.ts'
import { checkText } from './view-text.ts'

/** Attributes that every element may have, also one that the program declares. */
const COMMON: ReadonlySet<string> = new Set(['key', 'ref', 'id', 'class', 'raw_class', 'style', 'children'])

const OPEN: Why = { code: 'typecheck.prop', message: 'the attribute has another type' }

/** Finds the type of an element, and compares its attributes with the properties of its component. */
export function inferElement(inference: Inference, element: Element): Type {
  const { context } = inference
  const { tag, attributes, children } = element
  const named = context.scopes.lookup(tag.text) === undefined ? context.names.get(tag.text) : undefined
  // A function is a component only if its name begins with a capital letter: `fn label` does not change `<label>`.
  const entry = named?.declaration.kind === 'Function' && !/^[A-Z]/.test(tag.text) ? undefined : named
  const props = entry === undefined ? null : context.declarations.properties(entry.declaration)
  const isUnknown = entry === undefined && /^[A-Z]\w*$/.test(tag.text) && context.scopes.lookup(tag.text) === undefined
  if (isUnknown) reportUndefined(context, tag.text, tag, true)
  if (entry !== undefined) {
    reportDeprecated(context, entry, tag)
    if (props !== null) context.addUse({ kind: 'declaration', node: tag, declaration: entry.declaration, isCall: true })
  }
  for (const { name, value } of attributes) {
    const prop = props?.find(each => each.name === name.text)
    if (props !== null && prop === undefined && !isCommon(name.text)) unknownProp(context, element, props, name)
    if (value === null) continue
    if (prop === undefined) {
      inferAttribute(inference, value)
      if (name.text === 'bind' && !hasSetter(context, value)) checkMutable(context, value)
    } else inference.check(value, prop.type, whyOf(element, prop))
  }
  if (props !== null) checkPresence(context, element, props)
  inferChildren(inference, children ?? [])
  return ELEMENT
}

/** Finds the types of the children of an element or a fragment: they are shown, whatever their branches are. */
export function inferChildren(inference: Inference, children: readonly Expression[]): void {
  const words = checkText(inference.context, children)
  for (const child of children) if (!words.has(child)) inference.inferDiscarded(child)
}

/** Attributes of HTML take any value; a block is the body of a handler. */
function inferAttribute(inference: Inference, value: Expression): void {
  if (value.kind === 'Block') inference.inferDiscarded(value)
  else inference.check(value, ANY, OPEN)
}

/** True for a variable of a React hook, whose setter stores what is typed: `let (text, set_text) = use_state("")`. */
function hasSetter(context: Context, value: Expression): boolean {
  return value.kind === 'Identifier' && context.scopes.lookup(`set_${value.name}`)?.kind === 'variable'
}

function isCommon(name: string): boolean {
  return COMMON.has(name) || name.includes('-') || name.includes(':')
}

function unknownProp(
  context: Context,
  { tag }: Element,
  props: readonly SignatureParam[],
  name: Element['attributes'][number]['name']
): void {
  const near = nearName(
    name.text,
    props.map(each => each.name)
  )
  const names = props.map(each => `\`${each.name}\``).join(', ')
  context.report('typecheck.prop', `\`${tag.text}\` has no property \`${name.text}\``, name, {
    suggestions: [props.length === 0 ? 'it has no properties' : `its properties are ${names}`],
    ...spellingFix(near, name)
  })
}

function checkPresence(
  context: Context,
  { tag, attributes, children }: Element,
  props: readonly SignatureParam[]
): void {
  const present = new Set(attributes.map(({ name }) => name.text))
  const missing = props.filter(
    ({ name, isOptional, param }) =>
      !isOptional && !present.has(name) && !(name === 'children' && children !== null) && !isOptionType(param.type)
  )
  if (missing.length === 0) return
  const names = missing.map(({ name }) => `\`${name}\``).join(', ')
  context.report('typecheck.prop', `${names} of \`${tag.text}\` ${missing.length === 1 ? 'is' : 'are'} missing`, tag, {
    related: missing.map(({ span }) => ({ span, message: 'declared here' }))
  })
}

function isOptionType(type: SignatureParam['param']['type']): boolean {
  return type?.kind === 'OptionalType' || (type?.kind === 'NamedType' && type.path.at(-1)?.text === 'Option')
}

function whyOf({ tag }: Element, { name, span }: SignatureParam): Why {
  return {
    code: 'typecheck.prop',
    message: `the value does not match the type of \`${name}\` of \`${tag.text}\``,
    related: { span, message: 'declared here' },
    wrapsSome: 'stored'
  }
}
