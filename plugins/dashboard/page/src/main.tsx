import { effect } from '@preact/signals'
import { render } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { loadConsole, resumeSession, signIn } from './api.ts'
import { watchInbox } from './inbox-source.ts'
import { Login } from './pages/login.tsx'
import { ErrorNotice, Loading } from './parts.tsx'
import { followLinks } from './router.ts'
import { Shell } from './shell.tsx'
import { consoleState, session, theme } from './state.ts'
import { stream } from './stream.ts'

/** Takes a sign-in code from the address, and removes it there before it is used. */
function takeCode(): string | null {
  const code = /^#code=([\w.-]+)$/.exec(location.hash)?.[1] ?? null
  if (code !== null) history.replaceState(null, '', location.pathname + location.search)
  return code
}

function App({ failure }: { readonly failure: Error | null }) {
  const [error, setError] = useState<Error | null>(null)
  const id = session.value?.id
  const load = (): void => {
    setError(null)
    loadConsole().then(() => stream.start(), setError)
  }
  useEffect(() => {
    if (id === undefined) {
      stream.stop()
      consoleState.value = null
    } else load()
  }, [id])
  const isLoaded = consoleState.value !== null
  useEffect(() => (isLoaded ? watchInbox() : undefined), [isLoaded])
  if (id === undefined) return <Login failure={failure} onSignedIn={() => {}} />
  if (isLoaded) return <Shell />
  return <main class="center">{error === null ? <Loading /> : <ErrorNotice error={error} retry={load} />}</main>
}

async function start(): Promise<void> {
  effect(() => {
    document.documentElement.dataset.theme = theme.value
  })
  const root = document.getElementById('app') as HTMLElement
  root.addEventListener('click', followLinks)
  const draw = async (): Promise<void> => {
    let failure: Error | null = null
    const code = takeCode()
    try {
      if (code === null) await resumeSession()
      else await signIn(code)
    } catch (error) {
      failure = error as Error
    }
    render(<App key={failure?.message} failure={failure} />, root)
  }
  // A code that is pasted into the address of an open page does not load it again.
  addEventListener('hashchange', () => {
    if (location.hash.startsWith('#code=')) void draw()
  })
  await draw()
}

void start()
