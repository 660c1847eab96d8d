import { point } from '@svc/plugin-sdk'
import type { Bindings, DashboardRole, Link, ModuleView, View } from './views.ts'

/** Pages of the console. */
export const dashboardPages = point<DashboardPage>('dashboard.pages', { keys: page => [page.path], data: true })
/** Cards on the console's overview. */
export const dashboardCards = point<DashboardCard>('dashboard.cards', { data: true })
/** Buttons on rows and records of a kind. */
export const dashboardActions = point<DashboardAction>('dashboard.actions', { data: true })
/** Operations that return what waits for a person. */
export const dashboardInbox = point<DashboardInbox>('dashboard.inbox', { keys: item => [item.operation], data: true })
/** Operations that search objects of a plugin for the command palette. */
export const dashboardSearch = point<DashboardSearch>('dashboard.search', {
  keys: item => [item.operation],
  data: true
})

/** Icons of Lucide that the console contains. */
export const DASHBOARD_ICONS = [
  'activity',
  'app-window',
  'bot',
  'boxes',
  'brain',
  'chart-line',
  'clock',
  'cpu',
  'database',
  'file-text',
  'gauge',
  'git-branch',
  'inbox',
  'key-round',
  'layout-dashboard',
  'list-checks',
  'message-square',
  'network',
  'play',
  'plug',
  'radio',
  'route',
  'scroll-text',
  'search',
  'settings',
  'sparkles',
  'table',
  'terminal',
  'users',
  'workflow'
] as const

export type DashboardIcon = (typeof DASHBOARD_ICONS)[number]

export interface DashboardPage {
  /**
   * Begins with the plugin's name; the URL is `/ui/p/PATH`. A segment `:name` is a parameter: such a page is reached by
   * links and is not in the menu.
   */
  readonly path: string
  readonly title: string
  readonly summary?: string
  readonly icon?: DashboardIcon
  readonly section: 'run' | 'build' | 'observe' | 'system'
  /** Position in the section, ascending; default 100. */
  readonly order?: number
  /** Least role that sees the page; default `viewer`. */
  readonly role?: DashboardRole
  /** Path of the page that offers this one as a button. Such a page is not in the menu. */
  readonly under?: string
  readonly view: View | ModuleView
}

export interface DashboardCard {
  readonly title: string
  readonly order?: number
  readonly size: 's' | 'm' | 'l'
  readonly view: View
  readonly link?: Link
}

export interface DashboardAction {
  /** Kind of the row or record, as `of` of its view names it. */
  readonly on: string
  readonly label: string
  readonly operation: string
  /** Input of the operation from the row. A form requests required fields without a binding. */
  readonly bind: Bindings
  /** Input fields that the person may fill in before the call. */
  readonly ask?: readonly string[]
  /** Row field and its values for which the action is offered. Default: always. */
  readonly when?: { readonly field: string; readonly in: readonly unknown[] }
  readonly role?: DashboardRole
  readonly tone?: 'primary' | 'danger'
}

export interface DashboardInbox {
  /** Takes no input and returns `{ items: InboxItem[] }`. */
  readonly operation: string
}

export interface DashboardSearch {
  /** Takes `{ text }` and returns `{ results: { title, kind, link }[] }`. `link`: a path in the console. */
  readonly operation: string
}
