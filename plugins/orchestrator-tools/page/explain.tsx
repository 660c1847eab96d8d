import type { ConsoleApi, TaskExplanation } from '@svc/contracts'
import { render } from 'preact'
import { STYLE } from './explain-style.ts'

type Explanation = Omit<TaskExplanation, 'trace'> & { readonly text: string }
type Candidate = TaskExplanation['routing']['candidates'][number]

const OPERATION = 'orchestrator.explainTask'

const RULES: Readonly<Record<TaskExplanation['routing']['rule'], string>> = {
  target_agent: 'The task names this agent.',
  least_loaded: 'The task names no files, so the least loaded agent got it.',
  highest_score: 'This agent had the highest score.',
  exploration: 'This agent was chosen at random, to learn its reliability.',
  spawn_for_group: 'The agent was created for the group of the files.',
  fallback_single: 'No agent had a score, so the least loaded one got it.',
  spawn_general: 'No agent had a score, so this one was created.',
  spawn_default: 'There was no agent, so this one was created.',
  handoff: 'Another agent handed the task over.',
  rebalance: 'The task was moved to balance the load.'
}

/** Draws the routing of the task in the page's path, and follows its changes. Returns the disposer. */
export function mount(root: ShadowRoot | HTMLElement, api: ConsoleApi): () => void {
  const sheet = new CSSStyleSheet()
  sheet.replaceSync(STYLE)
  const owner = root instanceof ShadowRoot ? root : document
  owner.adoptedStyleSheets = [...owner.adoptedStyleSheets, sheet]
  const show = (explanation: Explanation | null, problem: string | null): void =>
    render(<Page explanation={explanation} problem={problem} api={api} />, root)
  let last: Explanation | null = null
  show(null, null)
  const stop = api.watch(
    OPERATION,
    { task_id: api.route.id },
    output => {
      last = output as Explanation
      show(last, null)
    },
    error => show(last, error.message)
  )
  return () => {
    stop()
    render(null, root)
    owner.adoptedStyleSheets = owner.adoptedStyleSheets.filter(each => each !== sheet)
  }
}

interface PageProps {
  readonly explanation: Explanation | null
  readonly problem: string | null
  readonly api: ConsoleApi
}

function Page({ explanation, problem, api }: PageProps) {
  const page = `/ui/p/orchestrator-tools/tasks/${encodeURIComponent(api.route.id ?? '')}`
  const open = (event: MouseEvent): void => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return
    event.preventDefault()
    api.navigate(page)
  }
  return (
    <div class="page">
      <p>
        <a href={page} onClick={open}>
          Back to the task
        </a>
      </p>
      {problem === null ? null : (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      {explanation !== null ? (
        <Routing explanation={explanation} />
      ) : problem === null ? (
        <p role="status">Loading…</p>
      ) : null}
    </div>
  )
}

function Routing({ explanation: { routing, test_decision } }: { readonly explanation: Explanation }) {
  const { candidates, agent_id, rule } = routing
  const scale = Math.max(0, ...candidates.flatMap(({ terms }) => terms.map(({ value }) => Math.abs(value))))
  return (
    <>
      <p>{RULES[rule] ?? rule}</p>
      <p class="dim">{`Tests: ${test_decision.decision}. ${test_decision.rationale}`}</p>
      {candidates.length === 0 ? (
        <p class="empty">
          The points of the candidates appear here for tasks that were routed by score. They are kept while the task is
          queued and, for up to 64 agents, from its start until this process ends.
        </p>
      ) : (
        candidates.map((candidate, at) => (
          <CandidateTable
            key={candidate.agent_id}
            candidate={candidate}
            place={at + 1}
            isChosen={candidate.agent_id === agent_id}
            scale={scale}
          />
        ))
      )}
    </>
  )
}

interface CandidateProps {
  readonly candidate: Candidate
  readonly place: number
  readonly isChosen: boolean
  /** Largest absolute value of all terms, which is drawn at full width. */
  readonly scale: number
}

/** The terms of a candidate: bars to the left and right of zero, with their values and reasons as text. */
function CandidateTable({ candidate, place, isChosen, scale }: CandidateProps) {
  const { agent_id, agent_name, score, terms } = candidate
  return (
    <table class={isChosen ? 'chosen' : ''}>
      <caption>
        {`${place}. ${agent_name} (${agentLabel(agent_id)})`}
        {isChosen ? <span class="badge">chosen</span> : null}
      </caption>
      <thead>
        <tr>
          <th scope="col">Term</th>
          <th scope="col">Points</th>
        </tr>
      </thead>
      <tbody>
        {terms.map(({ term, value, because }) => (
          <tr key={term} class={value === 0 ? 'zero' : ''}>
            <th scope="row">
              {term.replaceAll('_', ' ')}
              <span class="why">{because}</span>
            </th>
            <td>
              <div class="points">
                <Bar value={value} scale={scale} />
                <span class="value">{signed(value)}</span>
              </div>
            </td>
          </tr>
        ))}
      </tbody>
      <tfoot>
        <tr>
          <th scope="row">Score</th>
          <td>
            <div class="points">
              <span class="value total">{signed(score)}</span>
            </div>
          </td>
        </tr>
      </tfoot>
    </table>
  )
}

function Bar({ value, scale }: { readonly value: number; readonly scale: number }) {
  const width = scale === 0 ? 0 : (Math.abs(value) / scale) * 50
  const side = value < 0 ? { right: '50%' } : { left: '50%' }
  return (
    <span class="track" aria-hidden="true">
      {value === 0 ? null : (
        <span class={value < 0 ? 'bar negative' : 'bar positive'} style={{ ...side, width: `${width}%` }} />
      )}
    </span>
  )
}

function agentLabel(id: number): string {
  return `A-${String(id).padStart(2, '0')}`
}

function signed(value: number): string {
  const rounded = Math.round(value * 1_000) / 1_000
  return rounded > 0 ? `+${rounded}` : String(rounded).replace('-', '−')
}
