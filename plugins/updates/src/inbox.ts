import type { Handler, Infer } from '@svc/plugin-sdk'
import { type LastCheck, readLastCheck } from './check.ts'
import { isBreaking, isNewer } from './choose.ts'
import { clearFailure, type Failure, readFailure } from './failure.ts'
import { type Dependencies, stored } from './handlers.ts'
import type { updatesDismiss, updatesInbox } from './operations.ts'

type Item = Infer<typeof updatesInbox.output>['items'][number]

const PAGE = '/ui/p/updates/updates'

export function inboxHandler({ toolchain, current }: Dependencies): Handler<typeof updatesInbox> {
  return async () => {
    const [last, failure, installed] = await Promise.all([
      readLastCheck(toolchain.home),
      readFailure(toolchain.home),
      toolchain.current()
    ])
    const items: Item[] = failure === null ? [] : [failedItem(failure)]
    if (last === null || !isNewer(last.version, current) || last.ignored === last.tag) return { items }
    const isInstalled = installed !== null && !isNewer(last.version, installed.version)
    items.push(isInstalled ? installedItem(last, installed.version, current) : availableItem(last, current))
    return { items }
  }
}

function availableItem(last: LastCheck, current: string): Item {
  const breaking = isBreaking(current, last.version)
  const command = `svc upgrade --apply${breaking ? ' --allow-breaking' : ''}`
  return itemOf(last, {
    id: last.tag,
    title: `svc ${last.version} is available`,
    body: `This is svc ${current}.${breaking ? ' The new version has another major number and may need changes.' : ''} Install it with: ${command}`
  })
}

/** The version is installed, but this server runs another one. */
function installedItem(last: LastCheck, installed: string, current: string): Item {
  return itemOf(last, {
    id: `installed ${last.tag}`,
    title: `svc ${installed} is installed`,
    body: `This server still runs svc ${current}. Restart it to use the installed version.`
  })
}

function itemOf({ tag, checked_at }: LastCheck, about: Pick<Item, 'id' | 'title' | 'body'>): Item {
  return {
    ...about,
    kind: 'signal',
    since: checked_at,
    link: PAGE,
    answers: [{ label: 'Ignore this version', operation: 'updates.ignore', input: { tag } }]
  }
}

const TITLES: Readonly<Record<Failure['action'], string>> = {
  check: 'svc could not look for a new version',
  install: 'A new version could not be installed',
  rollback: 'svc could not go back to the previous version'
}

function failedItem({ at, action, message, hint }: Failure): Item {
  const next = hint === undefined ? '' : ` Next step: ${hint}`
  const dismiss = { label: 'Dismiss', operation: 'updates.dismiss', input: {} }
  const check = { label: 'Check now', operation: 'updates.check', input: {}, tone: 'primary' as const }
  return {
    id: `failed ${action}`,
    kind: 'failure',
    title: TITLES[action],
    body: `${message}.${next}`,
    since: at,
    link: PAGE,
    answers: action === 'check' ? [check, dismiss] : [dismiss]
  }
}

export function dismissHandler({ toolchain, changed }: Dependencies): Handler<typeof updatesDismiss> {
  return async () => {
    const dismissed = (await readFailure(toolchain.home)) !== null
    await stored(toolchain, home => clearFailure(home))
    changed()
    return { dismissed }
  }
}
