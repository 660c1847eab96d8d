import type { HirType } from '@svc/contracts'
import { type BuildModule, TypeImports } from '../typescript/types.ts'
import { rowText } from './files/schema.ts'
import { declarationText, RESULT_TYPE } from './files/types.ts'
import type { WebModule } from './web-module.ts'

/** Names that the client declares itself, or that belong to the platform. */
const TAKEN: ReadonlySet<string> = new Set([
  'ApiError',
  'Connection',
  'Blob',
  'File',
  'FormData',
  'Partial',
  'Promise',
  'Readonly',
  'Record',
  'Response',
  'Set',
  'WebSocket'
])

/** Types of a program for a module without imports: the module declares each type that it uses. */
export class ClientTypes extends TypeImports {
  readonly #web: WebModule
  readonly #used = new Set<string>()
  #usesResult = false

  constructor(web: WebModule) {
    super()
    this.#web = web
  }

  override use(module: BuildModule, name: string): string {
    // The children of a component are not serialised.
    if (module === 'react') return 'unknown'
    if (!this.#isDeclared(name)) {
      this.#usesResult = true
      return name
    }
    this.#used.add(name)
    return TAKEN.has(name) ? `${name}_` : name
  }

  print(type: HirType | null, generics: readonly string[] = []): string {
    return this.#web.types.print(type, this, new Set(generics))
  }

  /** Returns the declarations of the used types and their dependencies, in source order. */
  declarations(): string[] {
    const { types, tables } = this.#web.hir
    const texts = new Map<string, string>()
    for (const name of this.#used) {
      const declaredName = this.use('./types', name)
      const table = tables.find(each => each.name === name)
      const type = types.find(each => each.name === name)
      if (table !== undefined)
        texts.set(
          name,
          rowText(table, declaredName, member => this.print(member))
        )
      else if (type !== undefined) {
        const { generics = [] } = type
        texts.set(
          name,
          declarationText({ ...type, name: declaredName }, member => this.print(member, generics))
        )
      }
    }
    const inOrder = [...tables, ...types].flatMap(({ name }) => texts.get(name) ?? [])
    return this.#usesResult ? [...inOrder, RESULT_TYPE] : inOrder
  }

  #isDeclared(name: string): boolean {
    const { types, tables } = this.#web.hir
    return [...types, ...tables].some(each => each.name === name)
  }
}
