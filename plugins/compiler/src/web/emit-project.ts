import { type Diagnostic, sortDiagnostics } from '../diagnostics/diagnostic.ts'
import type { EmittedFile } from '../typescript/emitted-file.ts'
import { packageName } from '../typescript/names.ts'
import { deviceFile } from './app-hooks/device-file.ts'
import { usedHooks } from './app-hooks/used-hooks.ts'
import { appTitle } from './app-title.ts'
import { type BuildTarget, isForTarget, type MobileTarget } from './build-target.ts'
import { type ClientRoutes, clientRoutes } from './client-routes.ts'
import type { EmittedComponents } from './components/emit-components.ts'
import { activitiesFile } from './files/activities.ts'
import { appContractFile } from './files/app-contract.ts'
import { clientFile } from './files/client.ts'
import { dockerfiles } from './files/dockerfile.ts'
import { expressServerFile, unenforcedGuards } from './files/express-server.ts'
import { islandsMetaFile } from './files/islands-meta.ts'
import { libraryFiles } from './files/library.ts'
import { mobileFiles } from './files/mobile.ts'
import { openApiFile } from './files/openapi.ts'
import { queryHooksFile } from './files/query-hooks.ts'
import { routesJsonFile, routesManifestFile } from './files/routes-manifest.ts'
import { schemaFile } from './files/schema.ts'
import { tokensFiles } from './files/tokens.ts'
import { typesFile } from './files/types.ts'
import { urlsFile } from './files/urls.ts'
import { type ModuleLocation, userModuleFiles } from './files/user-modules.ts'
import { zodSchemasFile } from './files/zod-schemas.ts'
import { capacitorConfig } from './scaffold/capacitor.ts'
import { commonScaffold, type Layout } from './scaffold/common.ts'
import type { ScaffoldInputs } from './scaffold/scaffold-inputs.ts'
import { spaScaffold } from './scaffold/spa.ts'
import { startScaffold } from './scaffold/start.ts'
import { componentModule, viewsOf, type WebModule } from './web-module.ts'

export interface ProjectOptions {
  /** `library` generates a package instead of an application. */
  readonly mode: 'app' | 'library'
  readonly target: BuildTarget
  /** Mobile platforms of the application; null for browsers only. */
  readonly mobileTarget: MobileTarget | null
  readonly layout: Layout
  /** True if `server.ts` is generated. */
  readonly express: boolean
  /** Design tokens next to the program; null if the file does not exist. */
  readonly tokens: { readonly path: string; readonly text: string } | null
  /** Folder of the program, relative to the build folder. */
  readonly sourceFolder: string
  /** Returns the location of a user's module, by its path without extension; null if it does not exist. */
  readonly locate: (path: string) => ModuleLocation | null
}

export interface EmittedProject {
  /** Files that every build writes, sorted by path. */
  readonly files: readonly EmittedFile[]
  /** Starter files, which are written once and then belong to the user. */
  readonly scaffold: readonly EmittedFile[]
  /** Like `scaffold`, but written even without `--scaffold`. */
  readonly config: readonly EmittedFile[]
  /** Title of the application. */
  readonly title: string
  /** False if the program has neither routes nor a component that can be shown without properties. */
  readonly hasPages: boolean
  readonly diagnostics: readonly Diagnostic[]
}

/** Generates all files of a build. If a diagnostic is an error, the files must not be written. */
export function emitProject(web: WebModule, components: EmittedComponents, options: ProjectOptions): EmittedProject {
  const { routes, diagnostics } = clientRoutes(web)
  const users = userModuleFiles(web, options.sourceFolder, options.locate)
  const tokens = tokensFiles(web, options.tokens)
  const isApp = options.mode === 'app'
  const isWhole = options.target === 'fullstack'
  const hooks = usedHooks(web.module)
  const isWritten = (file: EmittedFile | null): file is EmittedFile =>
    file !== null && isForTarget(file.path, options.target)
  const modules = [
    clientFile(web),
    queryHooksFile(web),
    isApp && routes !== null ? routesManifestFile(web, routes) : null,
    schemaFile(web),
    zodSchemasFile(web),
    activitiesFile(web),
    islandsMetaFile(web),
    urlsFile(web),
    isApp && options.express ? expressServerFile(web) : null,
    ...components.files.filter(({ path }) => !users.files.some(file => file.path === path)),
    ...users.files,
    ...mobileFiles(web),
    hooks === null ? null : deviceFile(web.name, hooks, options.mobileTarget !== null)
  ].filter(isWritten)
  const types = typesFile(web, modules.some(usesResult))
  const files = [
    ...modules,
    ...(types === null ? [] : [types]),
    appContractFile(web, routes),
    openApiFile(web),
    ...tokens.files,
    ...dockerfiles(web)
  ].filter(isWritten)
  const exported = exportedComponents(web, files)
  const manifest = isWhole ? [routesJsonFile(routes)] : []
  const library = isApp ? [] : [...manifest, ...libraryFiles(web, files, exported)]
  return {
    files: [...files, ...library].sort((a, b) => (a.path < b.path ? -1 : 1)),
    scaffold: isApp && isWhole ? scaffoldFiles(web, files, routes, options) : [],
    config: options.mobileTarget === null ? [] : [capacitorConfig(web.name, outDirOf(options))],
    title: appTitle(web.source.path),
    hasPages: routes !== null || firstPage(web, files) !== null,
    diagnostics: sortDiagnostics([
      // These checks only apply to pages.
      ...(isWhole ? [...diagnostics, ...users.diagnostics, ...tokens.diagnostics] : []),
      ...(isApp && options.express ? unenforcedGuards(web.module) : []),
      ...components.diagnostics
    ])
  }
}

function usesResult({ text }: EmittedFile): boolean {
  return /^import [^\n]*\b(?:Result|Ok|Err)\b[^\n]* from '\.\/types'$/m.test(text)
}

/** Returns the components that have a module, with its path. */
function exportedComponents(web: WebModule, files: readonly EmittedFile[]): ReadonlyMap<string, string> {
  const paths = new Set(files.map(({ path }) => path))
  const names = new Set(web.pages.views.map(({ name }) => name.name))
  const modules = [...names].map(name => [name, `${(componentModule(web.pages, name) ?? '').slice(2)}.tsx`] as const)
  return new Map(modules.filter(([, path]) => paths.has(path)))
}

function scaffoldFiles(
  web: WebModule,
  files: readonly EmittedFile[],
  routes: ClientRoutes | null,
  options: ProjectOptions
): EmittedFile[] {
  const { layout, mobileTarget } = options
  const has = (path: string): boolean => files.some(file => file.path === path)
  const imported = files.flatMap(({ path, text }) => {
    if (path === 'server.ts') return []
    return [...text.matchAll(/^(?:import|export) [^\n]*from '([^.'][^']*)'$/gm)].map(([, module = '']) => module)
  })
  const scaffoldInputs: ScaffoldInputs = {
    name: packageName(web.name),
    title: appTitle(web.source.path),
    hasRoutes: routes !== null,
    hasClient: has('vox-client.ts'),
    hasHooks: has('vox-tanstack-query.tsx'),
    hasTokens: has('vox-tokens.css'),
    hasExpress: has('server.ts'),
    page: firstPage(web, files),
    outDir: outDirOf(options),
    hasMobile: has('mobile.ts'),
    mobileTarget,
    hasIslands: has('vox-islands-mount.ts'),
    islands: viewsOf(web.pages, 'Island').map(({ name }) => name.name),
    imported: new Set(imported)
  }
  return [
    ...commonScaffold(scaffoldInputs, layout),
    ...(layout === 'spa' ? spaScaffold(scaffoldInputs) : startScaffold(scaffoldInputs, routes))
  ]
}

/** Returns the component that a program without routes shows; null if every component has required properties. */
function firstPage(web: WebModule, files: readonly EmittedFile[]): string | null {
  const pages = web.pages.views.flatMap(({ name: { name }, properties }) => {
    const isShown = files.some(({ path }) => path === `${name}.tsx`) && properties.every(({ isOptional }) => isOptional)
    return isShown ? [name] : []
  })
  return pages.find(name => name === 'App' || name === 'Main') ?? pages[0] ?? null
}

/** Returns the output folder of Vite, relative to the build folder. `svc run` serves it. */
function outDirOf({ sourceFolder }: ProjectOptions): string {
  return `${sourceFolder}/public`
}
