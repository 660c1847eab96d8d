import { type Hir, type HirNode, walkHir } from '@svc/contracts'
import type { EmittedProgram } from './program.ts'

/** Returns the names of the module that code uses. Its variables must not have these names in TypeScript. */
export function usedNames(code: Iterable<HirNode>, program: EmittedProgram): Set<string> {
  const { names } = program
  const used = new Set<string>()
  const structs = new Set<string>()
  const add = (name: string): void => {
    if (names.has(name)) used.add(name)
  }
  const addAll = (roots: Iterable<HirNode>): void => {
    for (const root of roots) {
      walkHir(root, node => {
        addName(node, add)
        for (const struct of structsOf(node, program)) addDefaults(struct)
        return true
      })
    }
  }
  // The defaults of a struct become part of the code that makes one.
  const addDefaults = (struct: string): void => {
    if (structs.has(struct)) return
    structs.add(struct)
    for (const [, body] of program.defaultsOf(struct)) addAll(codeOfBody(body))
  }
  addAll(code)
  return used
}

/** Returns the structs whose defaults an expression may add. A conversion may add those of any type in its type. */
function structsOf(node: HirNode, program: EmittedProgram): readonly string[] {
  if (node.kind === 'Struct') return [node.name]
  return node.kind === 'Convert' && (node.conversion === 'struct' || node.conversion === 'checked')
    ? program.structs
    : []
}

function addName(node: HirNode, add: (name: string) => void): void {
  switch (node.kind) {
    case 'Call':
    case 'Function':
    case 'Constant':
    case 'Constructor':
    case 'Variant':
      add(node.name)
      return
    case 'Element':
      add(node.tag.split('.')[0] ?? '')
  }
}

/** Returns the code of a body, with that of the defaults. */
export function codeOfBody({ defaults, block }: Pick<Hir.Body, 'defaults' | 'block'>): HirNode[] {
  return [...defaults.filter(each => each !== null), ...block]
}
