import { computed } from '@preact/signals'
import type { ComponentChild } from 'preact'
import { CallError } from './api.ts'
import { lazy } from './lazy.tsx'
import { menu, offered } from './menu.ts'
import { ModulePage } from './module-page.tsx'
import { Overview } from './pages/overview.tsx'
import { Empty, ErrorNotice, Icon } from './parts.tsx'
import type { PageInfo } from './protocol.ts'
import { matchPath, path, query } from './router.ts'
import { consoleState, recordName } from './state.ts'
import { ViewOf } from './views/view.tsx'

interface OwnPage {
  readonly pattern: string
  readonly title: string
  readonly draw: (params: Readonly<Record<string, string>>) => ComponentChild
}

const Inbox = lazy(() => import('./pages/inbox.tsx').then(module => module.Inbox))
const Plugins = lazy(() => import('./pages/plugins.tsx').then(module => module.Plugins))
const Plugin = lazy(() => import('./pages/plugin.tsx').then(module => module.Plugin))
const Configuration = lazy(() => import('./pages/configuration.tsx').then(module => module.Configuration))
const Secrets = lazy(() => import('./pages/secrets.tsx').then(module => module.Secrets))
const Operations = lazy(() => import('./pages/operations.tsx').then(module => module.Operations))
const Operation = lazy(() => import('./pages/operation.tsx').then(module => module.Operation))

const OWN: readonly OwnPage[] = [
  { pattern: '/', title: 'Overview', draw: () => <Overview /> },
  { pattern: '/ui', title: 'Overview', draw: () => <Overview /> },
  { pattern: '/ui/inbox', title: 'Inbox', draw: () => <Inbox /> },
  { pattern: '/ui/plugins', title: 'Plugins', draw: () => <Plugins /> },
  { pattern: '/ui/plugins/:name', title: 'Plugin', draw: ({ name = '' }) => <Plugin key={name} name={name} /> },
  { pattern: '/ui/configuration', title: 'Configuration', draw: () => <Configuration /> },
  { pattern: '/ui/secrets', title: 'Secrets', draw: () => <Secrets /> },
  { pattern: '/ui/operations', title: 'Operations', draw: () => <Operations /> },
  { pattern: '/ui/operations/:id', title: 'Operation', draw: ({ id = '' }) => <Operation key={id} id={id} /> }
]

interface FoundPage {
  readonly page: PageInfo
  readonly params: Readonly<Record<string, string>>
}

/** Page of a plugin at the open path. A page with a fixed path wins over one with parameters. */
const contributed = computed<FoundPage | null>(() => {
  const pages = [...(consoleState.value?.pages ?? [])].sort((a, b) => count(a.path) - count(b.path))
  for (const page of pages) {
    const params = matchPath(`/ui/p/${page.path}`, path.value)
    if (params !== null) return { page, params }
  }
  return null
})

function count(path: string): number {
  return path.split(':').length
}

const own = computed(() => {
  for (const page of OWN) {
    const params = matchPath(page.pattern, path.value)
    if (params !== null) return { page, params }
  }
  return null
})

/** Title of the open page: the name of what it shows, below the page that lists it. */
export interface PageTitle {
  readonly text: string
  readonly parent: { readonly title: string; readonly to: string } | null
}

export const pageTitle = computed<PageTitle>(() => {
  const named = recordName.value?.path === path.value ? recordName.value.name : undefined
  if (own.value !== null) {
    const { page, params } = own.value
    const [value] = Object.values(params)
    const to = page.pattern.slice(0, page.pattern.lastIndexOf('/'))
    const parent = OWN.find(({ pattern }) => pattern === to)
    return value === undefined || parent === undefined
      ? { text: page.title, parent: null }
      : { text: value, parent: { title: parent.title, to } }
  }
  if (contributed.value === null) return { text: 'Not found', parent: null }
  const { page, params } = contributed.value
  if (page.under !== undefined) {
    const on = consoleState.value?.pages.find(({ path: each }) => each === page.under)
    return { text: page.title, parent: on === undefined ? null : { title: on.title, to: `/ui/p/${on.path}` } }
  }
  const last = page.path.split('/').at(-1) as string
  const value = named ?? (last.startsWith(':') ? params[last.slice(1)] : undefined)
  return { text: value ?? page.title, parent: parentOf(page.path, params) }
})

/** Returns the page whose path is the longest beginning of another one's; null if there is none. */
function parentOf(of: string, params: Readonly<Record<string, string>>): PageTitle['parent'] {
  const parts = of.split('/')
  for (let count = parts.length - 1; count > 1; count--) {
    const begin = parts.slice(0, count)
    const page = consoleState.value?.pages.find(({ path: each }) => each === begin.join('/'))
    if (page === undefined) continue
    const segments = begin.map(part => (part.startsWith(':') ? encodeURIComponent(params[part.slice(1)] ?? '') : part))
    const last = begin.at(-1) as string
    const value = last.startsWith(':') ? params[last.slice(1)] : undefined
    return { title: value === undefined ? page.title : `${page.title} ${value}`, to: `/ui/p/${segments.join('/')}` }
  }
  return null
}

/** Draws the page at the open path. */
export function CurrentPage(): ComponentChild {
  if (own.value !== null) return own.value.page.draw(own.value.params)
  const found = contributed.value
  if (found === null) return <NotFound />
  const { page, params } = found
  if (page.view.kind === 'module') return <ModulePage key={page.path} page={page} view={page.view} params={params} />
  return (
    <div class="fill" key={path.value}>
      <PageHeader page={page} />
      <ViewOf view={page.view} scope={{ route: params, filters: query.value }} label={page.title} />
    </div>
  )
}

/** Summary of a page in the menu, and buttons for the pages that it offers. */
function PageHeader({ page }: { readonly page: PageInfo }) {
  const buttons = offered.value.filter(({ on }) => on === `/ui/p/${page.path}`)
  const summary = page.path.includes(':') ? undefined : page.summary
  if (summary === undefined && buttons.length === 0) return null
  return (
    <div class="row page-header">
      <p class="dim grow">{summary}</p>
      {buttons.map(({ to, icon, title }) => (
        <a key={to} class="button primary" href={to}>
          <Icon name={icon} />
          {title}
        </a>
      ))}
    </div>
  )
}

function NotFound() {
  const { value } = path
  const plugin = /^\/ui\/p\/([^/]+)/.exec(value)?.[1]
  const broken = consoleState.value?.broken.find(
    ({ point, entry }) => point === 'dashboard.pages' && matchPath(`/ui/p/${entry}`, value) !== null
  )
  if (broken !== undefined)
    return (
      <ErrorNotice
        error={
          new CallError(
            {
              code: 'DSH_ENTRY_BROKEN',
              message: broken.reason,
              hint: `the page is shown once the plugin ${broken.plugin} is corrected`
            },
            0
          )
        }
      />
    )
  return (
    <Empty>
      <p>{`No plugin has a page at ${value}.`}</p>
      {plugin === undefined ? null : (
        <p>
          <a href={`/ui/plugins/${plugin}`}>{`See whether the plugin ${plugin} runs`}</a>
        </p>
      )}
      <p>
        <a href={menu.value[0]?.to ?? '/'}>Open the overview</a>
      </p>
    </Empty>
  )
}
