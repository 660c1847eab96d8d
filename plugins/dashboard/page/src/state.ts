import { computed, signal } from '@preact/signals'
import type { ConsoleState, OperationSummary, SessionInfo } from './protocol.ts'

/** Session of this tab; null while signed out. */
export const session = signal<SessionInfo | null>(null)
/** Contents of the console in the serving generation; null before they are loaded. */
export const consoleState = signal<ConsoleState | null>(null)
/** State of the stream of changes. */
export const connection = signal<'connecting' | 'open' | 'lost'>('connecting')
/** Number of requests that could not reach svc. */
export const unreachable = signal(0)
/** Name of the record that the open page shows, for its title. */
export const recordName = signal<{ readonly path: string; readonly name: string } | null>(null)
/** Number of items in the inbox. */
export const inboxCount = signal(0)

export const operationsById = computed(
  () => new Map<string, OperationSummary>((consoleState.value?.operations ?? []).map(each => [each.id, each]))
)

/** Returns whether this session may call the operation. */
export function mayCall(operation: string): boolean {
  return operationsById.value.get(operation)?.allowed === true
}

export interface Toast {
  readonly id: number
  readonly tone: 'ok' | 'bad'
  readonly text: string
  readonly hint?: string | undefined
}

export const toasts = signal<readonly Toast[]>([])
const TOAST_MS = 8_000
let nextToast = 1

/** Shows a short message in the corner. */
export function showToast(tone: Toast['tone'], text: string, hint?: string): void {
  const toast = { id: nextToast++, tone, text, hint }
  toasts.value = [...toasts.value.slice(-3), toast]
  setTimeout(() => dismissToast(toast.id), TOAST_MS)
}

export function dismissToast(id: number): void {
  toasts.value = toasts.value.filter(each => each.id !== id)
}

export type Theme = 'light' | 'dark'
const preferred = matchMedia('(prefers-color-scheme: dark)')
const stored = localStorage.getItem('svc-theme')
const chosen = signal<Theme | null>(stored === 'light' || stored === 'dark' ? stored : null)
const system = signal<Theme>(preferred.matches ? 'dark' : 'light')
preferred.addEventListener('change', () => {
  system.value = preferred.matches ? 'dark' : 'light'
})

export const theme = computed<Theme>(() => chosen.value ?? system.value)

/** Chooses a theme for this browser; null follows the system. */
export function chooseTheme(value: Theme | null): void {
  chosen.value = value
  if (value === null) localStorage.removeItem('svc-theme')
  else localStorage.setItem('svc-theme', value)
}
