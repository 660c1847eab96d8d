import type { InboxAnswer, InboxItem } from '@svc/contracts'
import { type Handler, t } from '@svc/plugin-sdk'
import type { inboxOperation, pagesOperation, searchOperation } from '../operations.ts'
import type { Entries } from '../registry/entries.ts'
import { inboxItemFields, searchResultFields } from './item-schemas.ts'
import type { Sources } from './sources.ts'

const INBOX = { list: 'items', item: t.object(inboxItemFields), maxItems: 500 }
const SEARCH = { list: 'results', item: t.object(searchResultFields), maxItems: 20 }

type Item = Omit<InboxItem, 'answers'> & { readonly answers: InboxAnswer[] }

/** Returns the handler of `dashboard.inbox`. Answers that the caller may not give are left out. */
export function listInbox(sources: Sources, entries: () => Entries): Handler<typeof inboxOperation> {
  return async (_input, call) => {
    const { items, failed } = await sources.collect<Item>(entries().inbox, {}, INBOX, call)
    return {
      items: items
        .map(item => ({ ...item, answers: item.answers.filter(({ operation }) => sources.mayCall(call, operation)) }))
        .sort((a, b) => a.since - b.since) as never,
      failed: [...failed]
    }
  }
}

/** Returns the handler of `dashboard.search`. */
export function search(sources: Sources, entries: () => Entries): Handler<typeof searchOperation> {
  return async ({ text }, call) => {
    const found = await sources.collect<{ readonly title: string; readonly kind: string; readonly link: string }>(
      entries().search,
      { text },
      SEARCH,
      call
    )
    return { results: [...found.items], failed: [...found.failed] }
  }
}

/** Returns the handler of `dashboard.pages`. */
export function listPages(entries: () => Entries): Handler<typeof pagesOperation> {
  return () => {
    const { pages, broken } = entries()
    const note = broken.map(({ plugin, point, entry, reason }) => `broken: ${point} ${entry} of ${plugin}: ${reason}`)
    return {
      pages: pages.map(({ item: { path, title, section, role = 'viewer', view }, unit: { name: plugin } }) => ({
        path,
        title,
        plugin,
        section,
        kind: view.kind,
        role
      })),
      broken: broken.map(each => ({ ...each })),
      note: note.join('\n')
    }
  }
}
