import type { ConsoleApi } from '@svc/contracts'
import { render } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { STYLE } from './style.ts'

/** Draws the texts of an item for all channels side by side, with what became of each. Returns the disposer. */
export function mount(root: ShadowRoot | HTMLElement, api: ConsoleApi): () => void {
  const sheet = new CSSStyleSheet()
  sheet.replaceSync(STYLE)
  const owner = root instanceof ShadowRoot ? root : document
  owner.adoptedStyleSheets = [...owner.adoptedStyleSheets, sheet]
  render(<PreviewsPage api={api} />, root)
  return () => {
    render(null, root)
    owner.adoptedStyleSheets = owner.adoptedStyleSheets.filter(each => each !== sheet)
  }
}

interface Previews {
  readonly title: string
  readonly digest: string
  readonly channels: readonly {
    readonly channel: string
    readonly problem: string | null
    readonly texts: readonly {
      readonly label: string
      readonly text: string
      readonly length: number
      readonly limit: number
      readonly unit: string
    }[]
  }[]
}

interface Post {
  readonly channel: string
  readonly digest: string
  readonly state: string
  readonly external_id: string | null
  readonly message: string | null
}

interface DryRun {
  readonly gate_codes: readonly string[]
  readonly channels: readonly { readonly channel: string; readonly decision_reasons: readonly string[] }[]
}

function PreviewsPage({ api }: { readonly api: ConsoleApi }) {
  const { id = '' } = api.route
  const [previews, setPreviews] = useState<Previews | null>(null)
  const [posts, setPosts] = useState<readonly Post[]>([])
  const [check, setCheck] = useState<DryRun | null>(null)
  const [problem, setProblem] = useState<string | null>(null)
  const failed = (error: unknown): void => setProblem((error as Error).message)

  useEffect(() => {
    const show = (output: unknown): void => {
      setPreviews(output as Previews)
      setProblem(null)
    }
    return api.watch('news.preview', { id }, show, failed)
  }, [id])
  useEffect(() => {
    const show = (output: unknown): void => setPosts((output as { readonly posts: readonly Post[] }).posts)
    return api.watch('news.status', { id }, show, failed)
  }, [id])

  const dryRun = (): void => {
    api.call('news.publish', { id, dry_run: true }).then(output => setCheck(output as DryRun), failed)
  }
  if (previews === null) return <p role="status">{problem ?? 'Loading…'}</p>
  return (
    <div class="page">
      <div class="bar">
        <h2>{previews.title}</h2>
        <code class="dim">{previews.digest.slice(0, 12)}</code>
        {api.may('news.publish') && (
          <button type="button" onClick={dryRun}>
            Dry run
          </button>
        )}
      </div>
      {problem !== null && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      {check !== null && (
        <p role="status">
          {check.gate_codes.filter(code => code !== 'dry_run').length === 0
            ? 'Only the dry run prevents sending.'
            : `What prevents sending: ${check.gate_codes.join(', ')}`}
        </p>
      )}
      {previews.channels.length === 0 && <p class="dim">The item is sent to no channel.</p>}
      <div class="columns">
        {previews.channels.map(({ channel, problem: why, texts }) => (
          <section class="card" key={channel} aria-label={channel}>
            <div class="bar">
              <h3>{channel}</h3>
              <Outcome posts={posts.filter(post => post.channel === channel)} digest={previews.digest} />
            </div>
            {why !== null && <p class="problem">{why}</p>}
            {reasonsOf(check, channel) !== '' && <p class="dim">{reasonsOf(check, channel)}</p>}
            {texts.map(({ label, text, length, limit, unit }) => (
              <div key={label}>
                <p class={length > limit ? 'count over' : 'count'}>
                  {label}: {length} of {limit} {unit}
                </p>
                <div class="text">{text}</div>
              </div>
            ))}
          </section>
        ))}
      </div>
    </div>
  )
}

function Outcome({ posts, digest }: { readonly posts: readonly Post[]; readonly digest: string }) {
  const post = posts.find(each => each.digest === digest) ?? posts[0]
  if (post === undefined) return <span class="dim">not sent</span>
  const kind = post.state === 'sent' ? 'badge' : post.state === 'unknown' ? 'badge open' : 'badge bad'
  const version = post.digest === digest ? '' : ' (earlier text)'
  return (
    <>
      <span class={kind}>{`${post.state}${version}`}</span>
      {post.external_id !== null && <code>{post.external_id}</code>}
      {post.message !== null && <span class="dim">{post.message}</span>}
    </>
  )
}

function reasonsOf(check: DryRun | null, channel: string): string {
  return check?.channels.find(each => each.channel === channel)?.decision_reasons.join(', ') ?? ''
}
