import { type Diagnostic, diagnostic } from '../diagnostics/diagnostic.ts'
import type { Module } from '../syntax/ast.ts'
import type { StringLiteral } from '../syntax/ast-expressions.ts'
import { roleTexts } from '../syntax/role-texts.ts'

export function checkResources(module: Module): Diagnostic[] {
  const first = new Map<string, StringLiteral>()
  const found: Diagnostic[] = []
  for (const item of module.items) {
    if (item.kind !== 'Function' || item.role !== 'mcp.resource' || item.roleDecorator === null) continue
    const [param] = item.params
    if (param !== undefined) {
      const message = `the MCP resource \`${item.name.text}\` cannot have parameters`
      const suggestions = ['make it an `@mcp.tool`, or read its inputs in its body']
      found.push(diagnostic('typecheck.mcp.resource_params', message, param, { suggestions }))
    }
    const [uri] = roleTexts(item.roleDecorator)
    if (uri === undefined) continue
    const other = first.get(uri.value)
    if (uri.value === '') found.push(diagnostic('typecheck.mcp.empty_uri', 'an MCP resource needs a URI', uri))
    else if (other === undefined) first.set(uri.value, uri)
    else {
      const related = [{ span: other, message: 'the other resource' }]
      const message = `two MCP resources have the URI \`${uri.value}\``
      found.push(diagnostic('typecheck.mcp.duplicate_resource_uri', message, uri, { related }))
    }
  }
  return found
}
