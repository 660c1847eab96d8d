import { manifestDigest } from '@svc/contracts'
import { test } from 'tap'
import { readItem } from '#items'
import { contentOf, type DecisionInput, decide, PostStore, Publisher, Sender, Tables } from '#publishing'
import { itemText, type OpenNews, openNews } from './kit.ts'
import { Board, boardChannel } from './remote-board.ts'

const FLAGS = ['none', 'call', 'item', 'policy', 'news.dry_run', 'publication.dry_run'] as const
type Flag = (typeof FLAGS)[number]
const APPROVALS = ['none', 'one', 'same twice', 'two', 'two of an older text'] as const
type Approvals = (typeof APPROVALS)[number]
const WORTH = ['not enforced', 'above', 'below', 'unknown'] as const
type Worth = (typeof WORTH)[number]

const EVIDENCE = (score: number): string =>
  [
    'worthiness:',
    ...['epistemic', 'reproducibility', 'novelty', 'reliability', 'metadata_policy'].map(key => `  ${key}: ${score}`),
    ...['claim_evidence', 'replayability', 'before_after', 'metadata', 'ai_disclosure'].map(key => `  ${key}: 1`),
    '  meaningful_advance: true'
  ].join('\n')

interface Cell {
  readonly flag: Flag
  readonly approvals: Approvals
  readonly worth: Worth
  readonly enabled: boolean
}

function settingsOf({ flag, enabled, worth }: Cell) {
  return {
    enabled,
    dry_run: flag === 'news.dry_run',
    site_base_url: 'https://a.example',
    template_profiles: false,
    worthiness_enforce: worth !== 'not enforced',
    worthiness_score_min: 0.85,
    channel_worthiness_floors: ''
  }
}

/** Publishes the item of a cell, with approvals as the cell says. */
async function publishCell(news: OpenNews, board: Board, cell: Cell) {
  const { flag, approvals, worth } = cell
  const channel = boardChannel(board, { canFind: true })
  const id = `c-${[FLAGS.indexOf(flag), APPROVALS.indexOf(approvals), WORTH.indexOf(worth)].join('-')}`
  const more = [
    worth === 'above' ? EVIDENCE(1) : worth === 'below' ? EVIDENCE(0.5) : '',
    'syndication:',
    '  board: true',
    ...(flag === 'item' ? ['  dry_run: true'] : []),
    ...(flag === 'policy' ? ['  distribution_policy:', '    dry_run: true'] : [])
  ]
  const text = (body: string): string => itemText({ id, more: more.filter(line => line !== '').join('\n'), body })
  const read = (body: string) => {
    const { item, problems } = readItem(text(body), `docs/news/${id}.md`, [channel])
    if (item === null) throw new Error(problems[0]?.message)
    return item
  }
  const settings = settingsOf(cell)
  const content = contentOf(read(approvals === 'two of an older text' ? 'Older text' : 'Text'), settings as never)
  const isNew = (await news.publications.find(id)) === null
  if (isNew) await news.publications.prepare(content)
  const people = { none: [], one: ['ada'], 'same twice': ['ada', 'ada'], two: ['ada', 'grace'] }
  for (const name of !isNew ? [] : approvals === 'two of an older text' ? people.two : people[approvals]) {
    await news.store.execute('INSERT INTO publication_approvals VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING', [
      id,
      manifestDigest(content),
      name,
      'human',
      1
    ])
  }
  const store = new PostStore({ tables: new Tables(news.store) })
  const log = { warn: () => {} }
  const publisher = new Publisher({
    settings: () => settings as never,
    publications: news.publications,
    store,
    sender: new Sender({ store, log, mask: each => each }),
    channels: () => [channel],
    log,
    changed: () => {}
  })
  const result = await publisher.publish(read('Text'), {
    dryRun: flag === 'call',
    again: false,
    signal: new AbortController().signal
  })
  return result.channels.find(each => each.channel === 'board')
}

test('of all combinations of flags, approvals, arming and worthiness, only the right ones send', async t => {
  let cells = 0
  for (const armed of [false, true]) {
    for (const pubDry of [false, true]) {
      const news = await openNews(t, { publication: { armed, dry_run: pubDry } })
      const board = new Board()
      const flags = FLAGS.filter(flag => (flag === 'publication.dry_run') === pubDry)
      for (const flag of flags) {
        for (const approvals of APPROVALS) {
          for (const worth of WORTH) {
            for (const enabled of [false, true]) {
              cells++
              const before = board.posts.length
              const result = await publishCell(news, board, { flag, approvals, worth, enabled })
              const isWorthy = worth === 'not enforced' || worth === 'above'
              const isRight = armed && enabled && isWorthy && flag === 'none' && approvals === 'two'
              const name = JSON.stringify({ armed, flag, approvals, worth, enabled })
              if (board.posts.length - before !== (isRight ? 1 : 0)) t.fail(`posts: ${name}`)
              if ((result?.outcome === 'Success') !== isRight) t.fail(`outcome ${result?.outcome}: ${name}`)
              if (!isRight && (result?.decision_reasons.length ?? 0) === 0) t.fail(`no reason: ${name}`)
            }
          }
        }
      }
      t.equal(board.posts.length, armed && !pubDry ? 2 : 0, `armed ${armed}, publication.dry_run ${pubDry}`)
    }
  }
  t.equal(cells, 2 * FLAGS.length * APPROVALS.length * WORTH.length * 2)
})

test('the decision allows sending in the one right cell of all combinations', async t => {
  const { item } = readItem(itemText({ id: 'x' }), 'x.md', [])
  const booleans = [false, true]
  let right = 0
  for (const dryRun of booleans)
    for (const enabled of booleans)
      for (const approved of booleans)
        for (const armed of booleans)
          for (const database of booleans)
            for (const gateDry of booleans)
              for (const excluded of booleans)
                for (const due of booleans)
                  for (const score of [null, 0.5, 0.9]) {
                    const codes: DecisionInput['gate']['codes'] = [
                      ...(dryRun || gateDry ? (['dry_run'] as const) : []),
                      ...(database ? [] : (['missing_db'] as const)),
                      ...(approved || !database ? [] : (['missing_dual_approval'] as const)),
                      ...(armed ? [] : (['publish_not_armed'] as const))
                    ]
                    const { verdict } = decide({
                      item: item as never,
                      channel: 'board',
                      options: excluded ? false : {},
                      nowMs: due ? Date.UTC(2027, 0) : 0,
                      enabled,
                      dryRun,
                      gate: { open: codes.length === 0, codes },
                      floors: { aggregate: 0.85, channels: new Map() },
                      worthiness: { score, decision: 'Publish' },
                      templateProfiles: false
                    })
                    const isRight = codes.length === 0 && enabled && !excluded && due && score === 0.9
                    if (isRight) right++
                    if ((verdict === 'send') !== isRight)
                      t.fail(JSON.stringify({ codes, enabled, excluded, due, score }))
                  }
  t.equal(right, 1)
})
