import type { Hir } from '@svc/contracts'
import type {
  Component,
  ComponentMember,
  Effect,
  Fragment,
  Lifecycle,
  Param,
  Statement,
  Type,
  View
} from '../syntax/ast.ts'
import type { CodeLowering } from './code.ts'
import type { BodyLowering } from './lower-body.ts'
import { lowerType } from './lower-types.ts'
import { inOrderOfUse } from './order-of-use.ts'

type Effectful = Effect | Lifecycle

/** A member whose value other members may use, or a statement between them. */
type ValueMember = Exclude<ComponentMember, Effectful | View>

/** Lowers a component or a fragment. All of its code has one list of variables. */
export function lowerComponent(item: Component | Fragment, code: CodeLowering): Hir.Component {
  return code.outside(lowering => {
    const properties = lowerProperties(item, lowering)
    const name = item.name.text
    if (item.kind === 'Fragment') return { name, properties, members: [], view: lowering.value(item.body) }
    const members = lowerMembers(item, lowering)
    const root = item.members.find(member => member.kind === 'View')?.root
    return { name, properties, members, view: root === undefined ? null : lowering.value(root) }
  })
}

function lowerProperties(item: Component | Fragment, lowering: BodyLowering): Hir.Property[] {
  const { typed, types } = lowering.module
  const known = typed.paramTypes(item).map(type => types.of(type))
  const { params, defaults } = lowering.params(item.params, known)
  return params.map((local, index) => ({
    local,
    annotation: annotation((item.params[index] as Param).type),
    default: defaults[index] ?? null
  }))
}

function lowerMembers({ members }: Component, lowering: BodyLowering): Hir.Member[] {
  const { module, scope } = lowering
  const { typed, types } = module
  const values = members.filter(isValue)
  // Members may use states and derived values that are declared after them.
  const locals = new Map<ComponentMember, Hir.LocalId>()
  for (const member of values) {
    if (member.kind !== 'State' && member.kind !== 'Derived') continue
    const type = types.of(typed.memberType(member))
    locals.set(member, scope.declare(member.name.text, type, member.kind === 'State'))
  }
  return [
    ...inOrderOfUse(values).map(member => lowerValue(member, locals.get(member), lowering)),
    ...members.filter(isEffectful).map(member => lowerEffect(member, lowering))
  ]
}

function lowerValue(member: ValueMember, local: Hir.LocalId | undefined, lowering: BodyLowering): Hir.Member {
  if (local === undefined || (member.kind !== 'State' && member.kind !== 'Derived')) {
    return lowering.statement(member as Statement)
  }
  const { kind, type, value } = member
  const span = lowering.module.span(member)
  return { kind, local, annotation: annotation(type), value: lowering.value(value), ...span }
}

function lowerEffect(member: Effectful, lowering: BodyLowering): Hir.EffectMember {
  const body = lowering.value(member.body)
  const span = lowering.module.span(member)
  if (member.kind === 'Lifecycle') return { kind: 'Effect', moment: member.moment, dependencies: null, body, ...span }
  const dependencies = member.dependencies?.flatMap(({ text }) => localOf(text, lowering)) ?? null
  return { kind: 'Effect', moment: 'change', dependencies, body, ...span }
}

/** Other names are reported by the checker, and never change. */
function localOf(name: string, { scope }: BodyLowering): Hir.LocalId[] {
  const bound = scope.lookup(name)
  return bound?.kind === 'local' ? [bound.local] : []
}

function annotation(type: Type | null): Hir.Property['annotation'] {
  return type === null ? null : lowerType(type)
}

function isEffectful(member: ComponentMember): member is Effectful {
  return member.kind === 'Effect' || member.kind === 'Lifecycle'
}

function isValue(member: ComponentMember): member is ValueMember {
  return !isEffectful(member) && member.kind !== 'View'
}
