/** Part of `mobile.ts` that implements `@back_button`. */
export const BACK_BUTTON = `interface BackButton {
  /** Returns false if it did nothing. */
  readonly onPress: () => Promise<unknown>
  /** Called instead of going back; may return a path. null goes back. */
  readonly fallback: (() => Promise<unknown>) | null
}

/**
 * Calls \`onPress\` when the device's back button is pressed, and in a browser on navigation from one page of the
 * program to another. A browser cannot prevent a user from leaving the program.
 */
function startBackButton({ onPress, fallback }: BackButton, open: Open): () => void {
  // A handler that throws does not block navigation.
  const isHandled = async () => (await attempt(onPress, false)) !== false
  const native = nativeApp()
  if (native !== undefined) {
    const pressed = async (canGoBack: boolean) => {
      if (await isHandled()) return
      if (fallback !== null) openPath(await attempt(fallback, null), open)
      else if (canGoBack) history.back()
      else await native.exitApp()
    }
    return listening(native.addListener('backButton', ({ canGoBack }) => void pressed(canGoBack)))
  }
  let place = placeNow()
  /** Browser steps for which listeners are not notified. */
  let gone = 0
  let isAsking = false
  let isReturning = false
  let isPassing = false

  /** Notifies the listeners of the page that the browser now shows. */
  const pass = () => {
    isPassing = true
    window.dispatchEvent(new PopStateEvent('popstate', { state: history.state }))
    isPassing = false
  }
  const ask = async () => {
    const isDone = await isHandled()
    const path = isDone || fallback === null ? null : await attempt(fallback, null)
    const [steps, mayPass] = [gone, !isDone && (fallback === null || typeof path === 'string')]
    gone = 0
    isAsking = false
    if (mayPass) pass()
    else if (steps !== 0) {
      isReturning = true
      history.go(steps)
    }
    openPath(path, open)
  }
  const moved = (event: PopStateEvent) => {
    if (isPassing) return
    const [from, to] = [place, placeNow()]
    place = to
    // If the browser does not number its entries, every step counts as a step back.
    const steps = from === null || to === null ? 1 : from - to
    if (!isReturning && !isAsking && steps <= 0) return
    event.stopImmediatePropagation()
    if (isReturning) isReturning = false
    else {
      gone += steps
      if (isAsking) return
      isAsking = true
      void ask()
    }
  }
  const changed = (event: Event) => {
    if ((event as Event & { readonly navigationType?: string }).navigationType === 'traverse') return
    place = placeNow()
    // The browser cannot return to its earlier entry.
    gone = 0
  }
  const { navigation } = globalThis as Navigating
  // Capturing, so that it runs before any router is notified.
  window.addEventListener('popstate', moved, { capture: true })
  navigation?.addEventListener('currententrychange', changed)
  return () => {
    window.removeEventListener('popstate', moved, { capture: true })
    navigation?.removeEventListener('currententrychange', changed)
  }
}

interface Navigating {
  readonly navigation?: EventTarget & { readonly currentEntry: { readonly index: number } | null }
}

/** Returns the index of the history entry; null if the browser does not provide it. */
function placeNow(): number | null {
  return (globalThis as Navigating).navigation?.currentEntry?.index ?? null
}
`
