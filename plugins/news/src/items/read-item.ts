import type { NewsChannel } from '@svc/contracts'
import { FrontMatterError, readFrontMatter } from '@svc/contracts/front-matter'
import { errorMessage } from '@svc/plugin-sdk'
import { schemaCheck } from '@svc/plugin-sdk/check'
import { TEMPLATE_PROFILES, type TemplateProfile } from '../templates/profiles.ts'
import { BUILT_IN_KEYS, isTemplate, keysOf, TEMPLATES, type TemplateName } from '../templates/templates.ts'
import { TOPIC_PACKS, type TopicPack } from '../templates/topic-packs.ts'
import { Fields, isRecord } from './fields.ts'
import type { ChannelPolicy, DistributionPolicy, ItemProblem, NewsItem } from './item.ts'
import { firstParagraph } from './plain-text.ts'
import { instantOf } from './published-at.ts'

const ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/
const MAX_TITLE = 300
const MAX_SUMMARY = 4_000
const MAX_TAGS = 50
const RETRIES = ['aggressive', 'standard', 'minimal', 'patient'] as const

/** Channels that items may name. Absent: names and options of channels are not checked. */
export type KnownChannels = readonly Pick<NewsChannel, 'name' | 'aliases' | 'options'>[]

export type ReadItem =
  | { readonly item: NewsItem; readonly problems: readonly [] }
  | { readonly item: null; readonly problems: readonly ItemProblem[] }

/** Reads the text of a file. `file`: its path in the project, for messages. Never throws for wrong content. */
export function readItem(text: string, file: string, channels: KnownChannels): ReadItem {
  const problems: ItemProblem[] = []
  try {
    const item = itemOf(text, file, channels, problems)
    return problems.length === 0 ? { item, problems: [] } : { item: null, problems }
  } catch (error) {
    const [line, hint] =
      error instanceof FrontMatterError ? [error.line, error.hint] : [1, 'check the format of the file']
    return { item: null, problems: [{ code: 'NEWS_ITEM_INVALID', file, line, message: errorMessage(error), hint }] }
  }
}

function itemOf(text: string, file: string, channels: KnownChannels, problems: ItemProblem[]): NewsItem {
  const frontMatter = readFrontMatter(text)
  if (frontMatter === null)
    throw new FrontMatterError('the file does not begin with front matter', 1, 'begin the file with a line ---')
  const { value, body, lineOf } = frontMatter
  const fields = new Fields(file, lineOf, value, problems)
  const id = fields.text('id', { max: 128, required: true })
  if (id !== '' && !ID.test(id)) {
    const hint = 'use letters, digits, ".", "_" and "-"; begin with a letter or digit'
    fields.problem('id', `"${id}" is no valid id`, hint)
  }
  const published = fields.text('published_at', { max: 40, required: true })
  const publishedAt = instantOf(published)
  if (published !== '' && publishedAt === null) {
    const hint = 'write a date such as 2026-03-01, or a time with its zone such as 2026-03-01T09:00:00Z'
    fields.problem('published_at', `"${published}" is no date`, hint)
  }
  const topicPack = fields.choice<TopicPack>('topic_pack', Object.keys(TOPIC_PACKS) as TopicPack[])
  const template = templateField(fields)
  const values = valuesOf(fields.nested('values'))
  checkKeys(fields, 'template', template, values)
  const syndication = fields.nested('syndication')
  const policy = policyOf(syndication?.nested('distribution_policy') ?? null, channels, values)
  const worthiness = fields.raw('worthiness')
  if (worthiness !== undefined && !isRecord(worthiness)) {
    fields.problem('worthiness', 'must be a list of fields', 'write fields such as novelty: 0.9 below worthiness:')
  }
  const item: NewsItem = {
    id,
    title: fields.text('title', { max: MAX_TITLE, required: true }),
    author: fields.text('author', { max: MAX_TITLE, required: true }),
    publishedAt: publishedAt ?? '',
    tags: fields.list('tags', MAX_TAGS),
    topicPack,
    draft: fields.flag('draft', false),
    template,
    values,
    dryRun: syndication?.flag('dry_run', false) ?? false,
    channels: channelsOf(syndication, channels),
    policy,
    worthiness: worthiness ?? null,
    summary: fields.text('summary', { max: MAX_SUMMARY }) || firstParagraph(body),
    body: body.trim(),
    file
  }
  if (item.body === '') fields.problem('', 'the item has no text', 'write text below the front matter')
  fields.refuseOthers()
  return item
}

function channelsOf(
  syndication: Fields | null,
  known: KnownChannels
): ReadonlyMap<string, Readonly<Record<string, unknown>> | false> {
  const found = new Map<string, Readonly<Record<string, unknown>> | false>()
  for (const { name, aliases = [], options } of known) {
    const given = [name, ...aliases].filter(each => syndication?.keys().includes(each) === true)
    for (const each of given) syndication?.raw(each)
    if (given.length > 1) syndication?.problem(given[1] ?? name, `is the same as ${given[0]}`, 'remove one of them')
    const [key] = given
    if (syndication === null || key === undefined) continue
    const value = syndication.raw(key)
    if (value === false) found.set(name, false)
    else if (value !== true && value !== null && !isRecord(value)) {
      syndication.problem(key, 'must be true, false or a list of options', `write ${key}: true`)
    } else {
      const chosen = structuredClone(isRecord(value) ? value : {})
      const checked = schemaCheck(options, { defaults: true })(chosen)
      if (checked.ok) found.set(name, chosen)
      else syndication.problem(key, checked.text, `correct the options of ${key}`)
    }
  }
  for (const key of ['rss']) if (known.some(({ name }) => name === key) && !found.has(key)) found.set(key, {})
  syndication?.refuseOthers(known.flatMap(({ name, aliases = [] }) => [name, ...aliases]))
  return found
}

function policyOf(
  fields: Fields | null,
  known: KnownChannels,
  values: Readonly<Record<string, string>>
): DistributionPolicy {
  const channels = new Map<string, ChannelPolicy>()
  const all = fields?.nested('channels') ?? null
  for (const { name, aliases = [] } of known) {
    const given = [name, ...aliases].filter(each => all?.keys().includes(each) === true)
    for (const key of given) {
      const policy = all?.nested(key) ?? null
      if (policy !== null) channels.set(name, channelPolicy(policy, values))
    }
    if (given.length > 1) all?.problem(given[1] ?? name, `is the same as ${given[0]}`, 'remove one of them')
  }
  all?.refuseOthers(known.flatMap(({ name, aliases = [] }) => [name, ...aliases]))
  const dryRun = fields?.flag('dry_run', false) ?? false
  fields?.refuseOthers()
  return { dryRun, channels }
}

function channelPolicy(fields: Fields, values: Readonly<Record<string, string>>): ChannelPolicy {
  const template = templateField(fields)
  checkKeys(fields, 'template', template, values)
  const policy: ChannelPolicy = {
    enabled: fields.flag('enabled', true),
    includeTags: fields.list('include_tags', MAX_TAGS),
    excludeTags: fields.list('exclude_tags', MAX_TAGS),
    minTopicScore: fields.share('min_topic_score') ?? 0,
    worthinessFloor: fields.share('worthiness_floor'),
    templateProfile: fields.choice('template_profile', Object.keys(TEMPLATE_PROFILES) as TemplateProfile[]),
    template,
    retry: fields.choice('retry', RETRIES)
  }
  if (policy.minTopicScore > 0 && policy.includeTags.length === 0) {
    fields.problem('min_topic_score', 'needs include_tags', 'list the tags that count')
  }
  fields.refuseOthers()
  return policy
}

function templateField(fields: Fields): TemplateName | null {
  return fields.choice('template', Object.keys(TEMPLATES).filter(isTemplate))
}

function valuesOf(fields: Fields | null): Readonly<Record<string, string>> {
  if (fields === null) return {}
  const values: Record<string, string> = {}
  for (const key of fields.keys()) {
    if (BUILT_IN_KEYS.some(each => each === key)) fields.problem(key, 'is set by svc', 'choose another name')
    values[key] = fields.text(key, { max: MAX_SUMMARY })
  }
  return values
}

/** Reports placeholders of a template that have no value. */
function checkKeys(
  fields: Fields,
  key: string,
  template: TemplateName | null,
  values: Readonly<Record<string, string>>
): void {
  if (template === null) return
  const known: readonly string[] = [...BUILT_IN_KEYS, ...Object.keys(values)]
  const unknown = keysOf(TEMPLATES[template]).filter(each => !known.includes(each))
  if (unknown.length === 0) return
  const names = unknown.join(', ')
  fields.problem(key, `the template ${template} needs values for ${names}`, `add them below values:`)
}
