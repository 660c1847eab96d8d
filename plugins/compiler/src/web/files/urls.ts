import { lowerType } from '../../hir/lower-types.ts'
import type { UrlDeclaration, UrlEntry } from '../../syntax/ast.ts'
import type { EmittedFile } from '../../typescript/emitted-file.ts'
import { header } from '../../typescript/header.ts'
import { literal, propertyKey, valueName } from '../../typescript/names.ts'
import { TypeImports } from '../../typescript/types.ts'
import { itemsOf, type WebModule } from '../web-module.ts'

const ENCODE = `function $url(path: string, search: Readonly<Record<string, unknown>>): string {
  const pairs = Object.entries(search)
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([key, value]) => \`\${encodeURIComponent(key)}=\${encodeURIComponent(String(value))}\`)
  return pairs.length === 0 ? path : \`\${path}?\${pairs.join('&')}\`
}
`

/**
 * Generates `urls.ts`: an object for each `url` declaration, with a function for each address. `home` is `/`; other
 * names become a path of their words. Parameters are path segments; optional ones (`?`) go into the query.
 */
export function urlsFile(web: WebModule): EmittedFile | null {
  const declarations = itemsOf(web.module, 'Url')
  if (declarations.length === 0) return null
  const imports = new TypeImports()
  const objects = declarations.map(declaration => objectText(web, declaration, imports))
  const needsEncode = objects.some(text => text.includes('$url('))
  const lines = imports.lines()
  const head = [header(web.name), ...(lines.length === 0 ? [] : [`${lines.join('\n')}\n`])]
  return { path: 'urls.ts', text: [...head, ...(needsEncode ? [ENCODE] : []), ...objects].join('\n') }
}

function objectText(web: WebModule, { name, entries }: UrlDeclaration, imports: TypeImports): string {
  const members = entries.map(entry => `  ${propertyKey(entry.name.text)}: ${functionText(web, entry, imports)}`)
  return `export const ${name.text} = {\n${members.join(',\n')}\n} as const\n`
}

function functionText({ types }: WebModule, { name, params }: UrlEntry, imports: TypeImports): string {
  const inPath = params.filter(({ isOptional }) => !isOptional)
  const behind = params.filter(({ isOptional }) => isOptional)
  const ordered = [...inPath, ...behind].map(param => {
    const type = types.print(lowerType(param.type), imports)
    return `${valueName(param.name.text)}${param.isOptional ? '?' : ''}: ${type}`
  })
  const word = name.text
    .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
    .replaceAll('_', '-')
    .toLowerCase()
  const start = word === 'home' || word === 'index' ? '' : `/${word}`
  const parts = inPath.map(param => `/\${encodeURIComponent(String(${valueName(param.name.text)}))}`)
  const path = parts.length === 0 ? literal(start || '/') : `\`${start}${parts.join('')}\``
  if (behind.length === 0) return `(${ordered.join(', ')}): string => ${path}`
  const search = behind.map(param => {
    const value = valueName(param.name.text)
    return value === param.name.text ? value : `${param.name.text}: ${value}`
  })
  return `(${ordered.join(', ')}): string => $url(${path}, { ${search.join(', ')} })`
}
