import { type Hir, type HirNode, walkHir } from '@svc/contracts'
import type { EmittedProgram } from './program.ts'

/** Returns the names of the module that code uses. Its variables must not have these names in TypeScript. */
export function usedNames(code: Iterable<HirNode>, { names }: EmittedProgram): Set<string> {
  const used = new Set<string>()
  const add = (name: string): void => {
    if (names.has(name)) used.add(name)
  }
  for (const root of code) {
    walkHir(root, node => {
      addName(node, add)
      return true
    })
  }
  return used
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
