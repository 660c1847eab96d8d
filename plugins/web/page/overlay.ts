/** A problem as the server describes it. */
export interface Problem {
  readonly title: string
  /** Message, with excerpts of the source. */
  readonly text: string
  readonly code: string | null
  readonly hint: string | null
  /** Call stack, innermost function first. */
  readonly calls: readonly string[]
  readonly requestId: string | null
}

/** Cause of a problem. Each has at most one, and the first in this order is shown. */
const CAUSES = ['build', 'call', 'page', 'notice'] as const
type Cause = (typeof CAUSES)[number]

/**
 * Shows problems above the page, in a shadow root, so that styles of the page do not apply. Texts are added as text
 * nodes, never as markup.
 */
export class Overlay {
  readonly #problems = new Map<Cause, Problem>()
  #host: HTMLElement | null = null

  show(cause: Cause, problem: Problem): void {
    this.#problems.set(cause, problem)
    this.#draw()
  }

  hide(cause: Cause): void {
    if (this.#problems.delete(cause)) this.#draw()
  }

  #draw(): void {
    const cause = CAUSES.find(each => this.#problems.has(each))
    const problem = cause === undefined ? undefined : this.#problems.get(cause)
    this.#host?.remove()
    this.#host = null
    if (cause === undefined || problem === undefined) return
    const host = document.createElement('svc-overlay')
    const root = host.attachShadow({ mode: 'open' })
    const close = (): void => this.hide(cause)
    root.append(element('style', {}, STYLE), cause === 'notice' ? bar(problem, close) : dialog(problem, close))
    document.documentElement.append(host)
    this.#host = host
    if (cause !== 'notice') root.querySelector('section')?.focus()
  }
}

function dialog(problem: Problem, close: () => void): HTMLElement {
  const { title, text, code, hint, calls, requestId } = problem
  const section = element(
    'section',
    { role: 'alertdialog', 'aria-label': title, tabindex: '-1' },
    element('header', {}, element('h1', {}, title), button('Dismiss (Esc)', close)),
    code === null ? null : element('p', { class: 'quiet' }, code),
    element('pre', { tabindex: '0', 'aria-label': 'Message' }, text),
    hint === null ? null : element('p', {}, element('strong', {}, 'Hint: '), hint),
    calls.length === 0 ? null : element('h2', {}, 'Call stack'),
    calls.length === 0 ? null : element('pre', { tabindex: '0', 'aria-label': 'Call stack' }, calls.join('\n')),
    requestId === null
      ? null
      : element('p', { class: 'quiet' }, 'Request ', element('code', {}, requestId), '; svc trace shows it')
  )
  section.addEventListener('keydown', event => {
    if (event.key === 'Escape') close()
  })
  return element('div', { class: 'cover' }, section)
}

function bar({ title, text }: Problem, close: () => void): HTMLElement {
  return element(
    'aside',
    { role: 'status' },
    element('strong', {}, title),
    element('span', {}, text),
    button('Dismiss', close)
  )
}

function button(label: string, onClick: () => void): HTMLElement {
  const node = element('button', { type: 'button' }, label)
  node.addEventListener('click', onClick)
  return node
}

function element(
  name: string,
  attributes: Readonly<Record<string, string>>,
  ...children: readonly (Node | string | null)[]
): HTMLElement {
  const node = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value)
  node.append(...children.filter(child => child !== null))
  return node
}

const STYLE = `
:host { all: initial; color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
.cover { position: fixed; inset: 0; z-index: 2147483647; overflow: auto; padding: 4vh 1rem; background: rgb(0 0 0 / 0.55); }
section { box-sizing: border-box; max-width: 60rem; margin: 0 auto; padding: 1.25rem 1.5rem; border-radius: 8px;
  border-top: 4px solid #d1242f; background: light-dark(#fff, #1d2026); color: light-dark(#1b1f24, #e6e8eb); outline: none; }
header { display: flex; gap: 1rem; align-items: start; justify-content: space-between; }
h1 { margin: 0; font-size: 1.15rem; overflow-wrap: anywhere; }
h2 { margin: 1rem 0 0; font-size: 0.95rem; }
p { margin: 0.5rem 0 0; overflow-wrap: anywhere; }
pre { margin: 0.75rem 0 0; padding: 0.75rem; overflow: auto; border-radius: 6px; font: 13px/1.5 ui-monospace, monospace;
  background: light-dark(#f3f4f6, #14161a); }
code { font: 13px ui-monospace, monospace; }
.quiet { color: light-dark(#57606a, #a4adb8); }
button { flex: none; padding: 0.3rem 0.7rem; border: 1px solid light-dark(#afb8c1, #59626e); border-radius: 6px;
  background: transparent; color: inherit; font: inherit; cursor: pointer; }
button:focus-visible, pre:focus-visible { outline: 2px solid #2f81f7; outline-offset: 1px; }
aside { position: fixed; inset: auto 0 0 0; z-index: 2147483646; display: flex; flex-wrap: wrap; gap: 0.5rem 1rem;
  align-items: center; padding: 0.6rem 1rem; background: #7a4b00; color: #fff; }
aside button { margin-left: auto; border-color: #fff; }
`
