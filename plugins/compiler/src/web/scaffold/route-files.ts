import { pascalCase } from '../../typescript/names.ts'
import type { ClientRoute } from '../client-routes.ts'

/** A file in `src/routes`, for one page. */
export interface RouteFile {
  /** Route id in the syntax of TanStack: `/tasks/$id`. */
  readonly id: string
  /** Path segment of this file; empty for a layout. `fullPath` is the path from the root. */
  readonly path: string
  readonly fullPath: string
  /** File name without folder and extension: `tasks.$id`. */
  readonly stem: string
  readonly variable: string
  readonly parent: RouteFile | null
  /** null for the home page of a program without routes. */
  readonly route: ClientRoute | null
  readonly hasChildren: boolean
}

/** The only page file of a program without routes. */
export const HOME: RouteFile = {
  id: '/',
  path: '/',
  fullPath: '/',
  stem: 'index',
  variable: 'Index',
  parent: null,
  route: null,
  hasChildren: false
}

/** Returns the files of a page and its children. */
export function routeFiles(route: ClientRoute, parent: RouteFile | null): RouteFile[] {
  const fullPath = route.path.replaceAll(':', '$')
  const words = fullPath.split('/').filter(word => word !== '')
  const hasChildren = route.children.length > 0
  if (fullPath === '/' && hasChildren) return frameFiles(route)
  const isFramed = parent?.path === ''
  const path = parent === null || isFramed ? fullPath : fullPath.slice(parent.fullPath.length)
  const stem = words.length === 0 ? 'index' : words.join('.')
  const own: RouteFile = {
    id: parent === null ? fullPath : parent.id + path,
    path,
    fullPath,
    stem: parent !== null && (isFramed || parent.stem.startsWith('_frame')) ? `_frame.${stem}` : stem,
    variable: variableOf(words),
    parent,
    route,
    hasChildren
  }
  return [own, ...route.children.flatMap(child => routeFiles(child, own))]
}

/** Returns the files of a root page with children. It becomes a layout without a path and an index page. */
function frameFiles(route: ClientRoute): RouteFile[] {
  const frame: RouteFile = {
    id: '/_frame',
    path: '',
    fullPath: '/',
    stem: '_frame',
    variable: 'Frame',
    parent: null,
    route,
    hasChildren: true
  }
  const index: RouteFile = { ...HOME, id: '/_frame/', stem: '_frame.index', parent: frame }
  return [frame, index, ...route.children.flatMap(child => routeFiles(child, frame))]
}

function variableOf(words: readonly string[]): string {
  return words.length === 0 ? 'Index' : words.map(word => pascalCase(word.replace(/\W+/g, '_'))).join('')
}
