import { computed } from '@preact/signals'
import type { IconShape } from './icons.ts'
import type { PageInfo } from './protocol.ts'
import { consoleState, mayCall } from './state.ts'

export interface MenuItem {
  readonly title: string
  readonly to: string
  readonly icon: IconShape
  readonly section: 'run' | 'build' | 'observe' | 'system'
  readonly order: number
}

const OWN: readonly (MenuItem & { readonly needs?: string })[] = [
  { title: 'Overview', to: '/', icon: 'layout-dashboard', section: 'run', order: 0 },
  { title: 'Inbox', to: '/ui/inbox', icon: 'inbox', section: 'run', order: 1 },
  { title: 'Plugins', to: '/ui/plugins', icon: 'plug', section: 'system', order: 1, needs: 'kernel.plugins.list' },
  {
    title: 'Configuration',
    to: '/ui/configuration',
    icon: 'settings',
    section: 'system',
    order: 2,
    needs: 'kernel.config.list'
  },
  {
    title: 'Secrets',
    to: '/ui/secrets',
    icon: 'key-round',
    section: 'system',
    order: 3,
    needs: 'kernel.secrets.doctor'
  },
  { title: 'Operations', to: '/ui/operations', icon: 'terminal', section: 'system', order: 4 }
]

export const SECTIONS = [
  { id: 'run', title: 'Run' },
  { id: 'build', title: 'Build' },
  { id: 'observe', title: 'Observe' },
  { id: 'system', title: 'System' }
] as const

const DEFAULT_ORDER = 100

/** Pages of the menu: the console's own and those of plugins, without pages that need a parameter. */
export const menu = computed<readonly MenuItem[]>(() => {
  const own = OWN.filter(({ needs }) => needs === undefined || mayCall(needs))
  const contributed = (consoleState.value?.pages ?? [])
    .filter(({ path, under }) => !path.includes(':') && under === undefined)
    .map(itemOf)
  return [...own, ...contributed].sort((a, b) => a.order - b.order || (a.title < b.title ? -1 : 1))
})

/** Pages that others offer as buttons, with the address of the page that offers them. */
export const offered = computed<readonly (MenuItem & { readonly on: string })[]>(() =>
  (consoleState.value?.pages ?? []).flatMap(page =>
    page.under === undefined || page.path.includes(':') ? [] : [{ ...itemOf(page), on: `/ui/p/${page.under}` }]
  )
)

function itemOf({ title, path, icon, section, order = DEFAULT_ORDER }: PageInfo): MenuItem {
  return { title, to: `/ui/p/${path}`, icon: icon ?? 'app-window', section, order }
}
