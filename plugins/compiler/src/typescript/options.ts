import type { Hir } from '@svc/contracts'
import type { Doc } from '../doc/doc.ts'
import { call, type TypeScriptCode } from './code.ts'
import type { EmittedModule } from './module.ts'
import { isNamed } from './value-types.ts'

/**
 * True for a type whose values may be null in TypeScript. An option of it is null for `None`, and a marked value for
 * `Some` of null: `Some(None)`.
 */
export function mayBeNull(type: Hir.Type): boolean {
  return type.kind === 'param' || type.kind === 'unit' || isNamed(type, 'Option')
}

/** Returns `Some` of a value. */
export function someCode(file: EmittedModule, value: TypeScriptCode, type: Hir.Type): TypeScriptCode {
  return mayBeNull(type) ? call(file.helper('some'), value.doc) : value
}

/** Returns the value in an option that is not `None`. */
export function heldCode(file: EmittedModule, option: TypeScriptCode, type: Hir.Type): TypeScriptCode {
  return mayBeNull(type) ? call(heldCallee(file, type), option.doc) : option
}

/** Like {@link heldCode}, for the text of an option, with a value of any type. */
export function heldText(file: EmittedModule, option: string, type: Hir.Type): string {
  return mayBeNull(type) ? `${file.helper('some_value')}<any>(${option})` : option
}

function heldCallee(file: EmittedModule, type: Hir.Type): string & Doc {
  return `${file.helper('some_value')}<${file.typeOrAny(type)}>`
}
