import type { BuiltInSkill, InboxItem } from '@svc/contracts'
import { defined, type Handler, type Infer } from '@svc/plugin-sdk'
import { openclawErrors } from '../errors.ts'
import { OpenClawGateway } from '../gateway.ts'
import type {
  skillsApprovals,
  skillsApprove,
  skillsDeny,
  skillsImport,
  skillsInbox,
  skillsInstalled,
  skillsRemove,
  skillsRun,
  skillsShow,
  skillsTrust
} from '../operations/skills.ts'
import type { Settings } from '../settings.ts'
import { newRecord, type SkillRecord, sha256 } from '../skills/record.ts'
import { assertTrusted, type SkillRunner } from '../skills/runner.ts'
import type { SkillStore } from '../skills/store.ts'
import { isOwner } from './owner.ts'

export interface SkillParts {
  readonly settings: Settings
  readonly version: string
  readonly gateway: OpenClawGateway
  readonly store: () => Promise<SkillStore>
  readonly runner: () => Promise<SkillRunner>
  readonly builtIns: () => readonly BuiltInSkill[]
  /** Called after the installed skills changed. */
  readonly changed: () => void
}

type ListedSkill = Infer<typeof skillsInstalled.output>['skills'][number]

/** Page of the console with a skill's text. */
export const SKILL_PAGE = 'openclaw/skills/:slug'
/** Maximum characters of a skill's text in an inbox item. */
const MAX_EXCERPT_CHARS = 4_000
/** Maximum inbox items. */
const MAX_ITEMS = 100

export function importHandler(parts: SkillParts): Handler<typeof skillsImport> {
  return async ({ slug, install, gateway: url, token }, { signal, surface }) => {
    if ((url !== undefined || token !== undefined) && !isOwner(surface))
      throw openclawErrors.create('SKG_GATEWAY_FIXED', `${surface} cannot choose another gateway or token`, {
        hint: 'use svc openclaw import, or change url and token in [plugins.openclaw]'
      })
    const gateway = url === undefined && token === undefined ? parts.gateway : otherGateway(parts, url, token)
    try {
      const { http_gateway_url: source } = await gateway.endpoints(signal)
      const isOwn = source === (await parts.gateway.endpoints(signal)).http_gateway_url
      const [skill, text] = await Promise.all([gateway.skill(slug, signal), gateway.skillText(slug, signal)])
      const trust = isOwn ? 'community' : 'untrusted'
      const found = newRecord(slug, skill, text, { source, trust, now: Date.now() })
      const record = install ? await (await parts.store()).install(found, text) : found
      if (install) parts.changed()
      const { version, description, kind, secrets, sha256 } = record
      return {
        slug,
        version,
        description,
        kind,
        trust: record.trust,
        secrets: [...secrets],
        installed: install,
        approval: install ? record.approval : null,
        approval_id: install ? record.approval_id : null,
        source,
        sha256,
        text
      }
    } finally {
      if (gateway !== parts.gateway) await gateway.close()
    }
  }
}

export function installedHandler({ store, builtIns }: SkillParts): Handler<typeof skillsInstalled> {
  return async () => {
    const installed = (await (await store()).list()).map(listed)
    const trusted = builtIns().map(listedBuiltIn)
    const names = new Set(trusted.map(each => each.slug))
    return { skills: [...trusted, ...installed.filter(each => !names.has(each.slug))] }
  }
}

export function showHandler({ store, builtIns }: SkillParts): Handler<typeof skillsShow> {
  return async ({ slug }) => {
    const builtIn = builtIns().find(each => each.slug === slug)
    if (builtIn !== undefined) return { skill: listedBuiltIn(builtIn), text: builtIn.text }
    const skills = await store()
    const record = await skills.get(slug)
    return { skill: listed(record), text: await skills.text(record) }
  }
}

export function approvalsHandler({ store }: SkillParts): Handler<typeof skillsApprovals> {
  return async () => ({ approvals: (await pending(await store())).map(listed) })
}

export function approveHandler({ store, changed }: SkillParts): Handler<typeof skillsApprove> {
  return async ({ id }) => {
    const record = await (await store()).decide(id, 'approved', Date.now(), assertTrusted)
    changed()
    return decision(record)
  }
}

export function denyHandler({ store, changed }: SkillParts): Handler<typeof skillsDeny> {
  return async ({ id }) => {
    const record = await (await store()).decide(id, 'denied', Date.now())
    changed()
    return decision(record)
  }
}

export function trustHandler({ store, changed }: SkillParts): Handler<typeof skillsTrust> {
  return async ({ slug, trust }) => {
    const record = await (await store()).trust(slug, trust)
    changed()
    return decision(record)
  }
}

export function removeHandler({ store, changed }: SkillParts): Handler<typeof skillsRemove> {
  return async ({ slug }) => {
    const { version } = await (await store()).remove(slug)
    changed()
    return { slug, version }
  }
}

export function runHandler({ runner }: SkillParts): Handler<typeof skillsRun> {
  return async ({ slug, command }, { signal }) => {
    const result = await (await runner()).run(slug, command, signal)
    return { ...result, healthy: (result.exit_code ?? 0) === 0 }
  }
}

export function inboxHandler({ store }: SkillParts): Handler<typeof skillsInbox> {
  return async () => {
    const skills = await store()
    const records = (await pending(skills)).slice(0, MAX_ITEMS)
    return { items: await Promise.all(records.map(each => itemOf(each, skills))) }
  }
}

/** Skills that wait for a person, those that wait longest first. */
async function pending(store: SkillStore): Promise<readonly SkillRecord[]> {
  const records = (await store.list()).filter(each => each.approval === 'pending')
  return records.sort((a, b) => a.installed_at - b.installed_at)
}

async function itemOf(
  record: SkillRecord,
  store: SkillStore
): Promise<Infer<typeof skillsInbox.output>['items'][number]> {
  const { slug, version, kind, trust, secrets, source, approval_id: id } = record
  const text = await store.text(record).catch(() => '')
  const isShortened = text.length > MAX_EXCERPT_CHARS
  const excerpt = isShortened ? `${text.slice(0, MAX_EXCERPT_CHARS)}…` : text
  const facts = [
    `Kind: ${kind}. Source: ${source}. Trust: ${trust}.`,
    secrets.length === 0 ? 'It requests no secrets.' : `It requests the secrets ${secrets.join(', ')}.`,
    ...(isShortened
      ? [`The text is shortened: open the skill to read all ${text.length} characters and approve it.`]
      : [])
  ]
  const deny = { label: 'Deny', operation: 'skills.deny', input: { id } } as const
  const approve = { label: 'Approve', operation: 'skills.approve', input: { id }, tone: 'primary' } as const
  const promote = {
    label: 'Trust its source',
    operation: 'skills.trust',
    input: { slug, trust: 'community' },
    tone: 'danger'
  } as const
  return {
    id,
    kind: 'approval',
    title: `Approve the skill ${slug} ${version}`,
    body: `${facts.join('\n\n')}\n\n${indented(excerpt)}`,
    since: record.installed_at,
    link: `/ui/p/${SKILL_PAGE.replace(':slug', encodeURIComponent(slug))}`,
    // One click approves only a text that was shown whole.
    answers: trust === 'untrusted' ? [promote, deny] : isShortened ? [deny] : [approve, deny]
  } satisfies InboxItem
}

/** Returns text as a code block of Markdown, whatever the text contains. */
function indented(text: string): string {
  return text.replace(/^/gm, '    ')
}

function listed(record: SkillRecord): ListedSkill {
  const { slug, version, description, author, kind, trust, approval, approval_id } = record
  const { secrets, source, sha256, bytes, installed_at } = record
  return {
    slug,
    version,
    description,
    author,
    kind,
    trust,
    approval,
    approval_id,
    secrets: [...secrets],
    source,
    sha256,
    bytes,
    installed_at
  }
}

function listedBuiltIn({ slug, version, description, text, run }: BuiltInSkill): ListedSkill {
  return {
    slug,
    version,
    description,
    author: null,
    kind: run === undefined ? 'document' : 'tool',
    trust: 'trusted',
    approval: 'approved',
    approval_id: '',
    secrets: [],
    source: 'svc',
    sha256: sha256(text),
    bytes: Buffer.byteLength(text),
    installed_at: null
  }
}

function decision({ slug, version, approval, trust }: SkillRecord): Infer<typeof skillsApprove.output> {
  return { slug, version, approval, trust }
}

/** The token of the settings is not sent to another gateway. */
function otherGateway(parts: SkillParts, url: string | undefined, token: string | undefined): OpenClawGateway {
  const { settings, version } = parts
  if (url === undefined) return new OpenClawGateway({ ...settings, ...defined({ token }) }, version)
  const { ws_url, well_known_url, catalog_list_url, catalog_search_url, token: own, ...rest } = settings
  return new OpenClawGateway({ ...rest, url, ...defined({ token }) }, version)
}
