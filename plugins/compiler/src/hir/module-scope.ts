import type { Hir } from '@svc/contracts'
import type { Declaration, Expression, Identifier, Member } from '../syntax/ast.ts'
import type { Span } from '../syntax/node.ts'
import { isViewTag } from '../syntax/view-tags.ts'
import type { ModuleName } from '../types/module-names.ts'
import { NATIVES } from '../types/natives/natives.ts'
import type { NativeMember } from '../types/natives/natives-contract.ts'
import type { Type, VariantType } from '../types/type.ts'
import type { TypedModule } from '../types/typed-module.ts'
import type { ByteOffsets } from './byte-offsets.ts'
import { TypeTable } from './type-table.ts'

/** Returns the position of a node, for another node at the same place. */
export function spanOf({ start, end }: Hir.Span): Hir.Span {
  return { start, end }
}

/** Names and types of a module, which all of its bodies share. */
export class ModuleScope {
  readonly typed: TypedModule
  readonly types = new TypeTable()
  /** Builtin records that the code uses without naming them. */
  readonly records = new Set<string>()
  readonly #offsets: ByteOffsets
  readonly #variants = new Map<string, VariantType>()

  constructor(typed: TypedModule, offsets: ByteOffsets) {
    this.typed = typed
    this.#offsets = offsets
    for (const { declaration } of typed.names.values()) this.#addVariants(declaration)
  }

  #addVariants(declaration: Declaration): void {
    if (declaration.kind !== 'Type' && declaration.kind !== 'StateMachine') return
    for (const variant of this.typed.defOf(declaration.name.text)?.variants ?? []) {
      if (!this.#variants.has(variant.name)) this.#variants.set(variant.name, variant)
    }
  }

  /** Returns a span in UTF-8 offsets. */
  span(span: Span): Hir.Span {
    return this.#offsets.span(span)
  }

  /** Returns the type of an expression in the form of the checker. */
  typeOf(expression: Expression): Type {
    return this.typed.typeOf(expression)
  }

  name(name: string): ModuleName | undefined {
    return this.typed.names.get(name)
  }

  /** The variant, or the state of a machine, that a name of the module constructs. */
  variant(name: string): VariantType | undefined {
    return this.typed.names.has(name) ? this.#variants.get(name) : undefined
  }

  /** A function or a value of every program that no name of the module replaces. */
  native(name: string): NativeMember | undefined {
    return this.typed.names.has(name) ? undefined : NATIVES.global(name)
  }

  /**
   * Returns the path of a member of a namespace: `std.fs.read`; null for members of values. `isLocal` returns true for
   * names that the body declares.
   */
  namespacePath(node: Member, isLocal: (name: string) => boolean): string | null {
    const names: string[] = [node.property.text]
    let at: Expression = node.object
    while (at.kind === 'Member') {
      names.push(at.property.text)
      at = at.object
    }
    const root = at.kind === 'Identifier' && !isLocal(at.name) ? this.#rootOf(at) : null
    return root === null ? null : [root, ...names.reverse()].join('.')
  }

  /** Returns the namespace that a name stands for, also if the name is an import of it. */
  #rootOf({ name }: Identifier): string | null {
    const entry = this.typed.names.get(name)
    if (entry === undefined) return NATIVES.isRoot(name) && NATIVES.global(name) === undefined ? name : null
    if (entry.declaration.kind !== 'Import') return null
    for (const item of entry.declaration.items) {
      if (item.kind !== 'PathImport' || item.members !== null || item.path[0]?.text !== 'std') continue
      if ((item.alias ?? item.path.at(-1)) === entry.name) return item.path.map(({ text }) => text).join('.')
    }
    return null
  }

  /** Names of the properties of a component, a fragment or an island of the module; null for other names. */
  properties(name: string): readonly string[] | null {
    const declaration = this.typed.names.get(name)?.declaration
    switch (declaration?.kind) {
      case 'Component':
      case 'Fragment':
        return declaration.params.map(param => param.name.text)
      case 'Island':
      case 'V0':
        return declaration.props.map(prop => prop.name.text)
      default:
        return null
    }
  }

  /** True for a name of an element of HTML that the module does not declare. */
  isTag(name: string): boolean {
    return !this.typed.names.has(name) && /^[a-z]/.test(name) && isViewTag(name)
  }
}
