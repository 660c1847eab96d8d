import { pathParameters } from '@svc/contracts'
import { type Diagnostic, diagnostic } from '../diagnostics/diagnostic.ts'
import type { HttpRoute, Module } from '../syntax/ast.ts'
import type { Identifier } from '../syntax/ast-expressions.ts'
import { nearName } from '../syntax/near-name.ts'
import { walk } from '../syntax/walk.ts'

/** Reports `http` route paths that the router does not accept, and path segments without a parameter. */
export function checkRoutePaths({ items }: Module): Diagnostic[] {
  return items.flatMap(item => (item.kind === 'HttpRoute' ? [...pathProblems(item), ...unusedParts(item)] : []))
}

function pathProblems({ path }: HttpRoute): Diagnostic[] {
  const { value } = path
  const report = (problem: string, suggestion: string): Diagnostic[] => {
    const suggestions = [suggestion]
    return [diagnostic('typecheck.route.path', `the path "${value}" ${problem}`, path, { suggestions })]
  }
  if (value === '') return []
  if (!value.startsWith('/')) {
    const fixes = [
      { label: 'begin the path with /', span: { start: path.start + 1, end: path.start + 1 }, replacement: '/' }
    ]
    const suggestions = ['a path begins with `/`']
    return [
      diagnostic('typecheck.route.path', `the path "${value}" does not begin with /`, path, { suggestions, fixes })
    ]
  }
  // The router's patterns use these characters. The last parameter may be optional.
  const plain = value.replace(/\(.*\)/s, '').replace(/(:\w+)\?$/, '$1')
  if (/[?#]/.test(plain)) {
    return report(
      'contains a query or a fragment',
      'a query is not part of a path; declare its values as parameters of the route'
    )
  }
  if (/\*./s.test(plain))
    return report('continues after `*`', 'make `*` the last character; it matches the rest of the path')
  const names = pathParameters(value)
  const twice = names.find((name, index) => names.indexOf(name) < index)
  return twice === undefined ? [] : report(`has \`${twice}\` twice`, 'give each of its parameters a different name')
}

/** Reports path parameters that a route with declared parameters neither declares nor uses. */
function unusedParts({ path, params, body }: HttpRoute): Diagnostic[] {
  if (params === null) return []
  const inPath = pathParameters(path.value)
  const used = new Set<string>()
  walk(body, node => {
    if (node.kind === 'Identifier') used.add((node as Identifier).name)
    return true
  })
  return inPath.flatMap(name => {
    if (params.some(param => param.name.text === name) || used.has(name)) return []
    const elsewhere = params.map(param => param.name.text).filter(each => !inPath.includes(each))
    const near = nearName(name, elsewhere) ?? ''
    const param = params.find(each => each.name.text === near)
    const message = `the route has no parameter for \`${name}\` of its path`
    if (param === undefined) {
      const suggestions = [`declare the parameter \`${name}: str\``]
      return [diagnostic('typecheck.route.parameter', message, path, { severity: 'warning', suggestions })]
    }
    return [
      diagnostic('typecheck.route.parameter', message, path, {
        suggestions: [`\`${near}\` comes from the query or the body, since the path does not have it`],
        fixes: [
          { label: `write :${near} in the path`, span: path, replacement: `"${renamed(path.value, name, near)}"` }
        ],
        related: [{ span: param.name, message: `\`${near}\` is declared here` }]
      })
    ]
  })
}

function renamed(path: string, from: string, to: string): string {
  return path.replace(/:(\w+)|\{(\w+)\}/g, (part, colon, braces) => ((colon ?? braces) === from ? `:${to}` : part))
}
