import { type Diagnostic, diagnostic } from '../diagnostics/diagnostic.ts'
import type { Module } from '../syntax/ast.ts'
import type { Call } from '../syntax/ast-expressions.ts'
import { walk } from '../syntax/walk.ts'

/** Reports workflows that call functions of other machines while no mesh is enabled. */
export function checkMesh({ items }: Module): Diagnostic[] {
  const found: Diagnostic[] = []
  for (const item of items) {
    if (item.kind !== 'Workflow') continue
    walk(item.body, node => {
      if (node.kind !== 'Call') return true
      const { callee } = node as Call
      if (callee.kind !== 'Identifier' || !callee.name.startsWith('mesh_')) return true
      const message = `\`${callee.name}\` runs on another machine, but no mesh is enabled`
      const suggestions = ['enable the mesh, or call an activity that runs on this machine']
      found.push(diagnostic('vox/workflow/mesh-disabled', message, callee, { suggestions }))
      return true
    })
  }
  return found
}
