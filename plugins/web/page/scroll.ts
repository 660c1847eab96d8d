/** Key of the stored position in the session of the tab. */
const KEY = 'svc-dev-scroll'
/** Milliseconds during which a page may still grow to its former height. */
const MAX_WAIT_MS = 3_000

interface Position {
  readonly path: string
  readonly x: number
  readonly y: number
}

/** Stores the scroll position for the reload of this page. */
export function keepScroll(): void {
  const position: Position = { path: location.pathname, x: scrollX, y: scrollY }
  try {
    sessionStorage.setItem(KEY, JSON.stringify(position))
  } catch {
    // Without storage, the page starts at its top.
  }
}

/** Restores the stored position as soon as the page is high enough, unless the user scrolls first. */
export function restoreScroll(): void {
  const position = taken()
  if (position === null || position.path !== location.pathname || (position.x === 0 && position.y === 0)) return
  const observer = new ResizeObserver(() => {
    const { scrollHeight, clientHeight } = document.documentElement
    if (scrollHeight - clientHeight >= position.y) apply()
  })
  const stop = (): void => {
    observer.disconnect()
    clearTimeout(timer)
    for (const type of USER_EVENTS) removeEventListener(type, stop)
  }
  const apply = (): void => {
    stop()
    scrollTo({ left: position.x, top: position.y, behavior: 'instant' })
  }
  const timer = setTimeout(apply, MAX_WAIT_MS)
  for (const type of USER_EVENTS) addEventListener(type, stop, { passive: true })
  observer.observe(document.documentElement)
}

const USER_EVENTS = ['wheel', 'touchstart', 'keydown', 'pointerdown'] as const

function taken(): Position | null {
  try {
    const text = sessionStorage.getItem(KEY)
    sessionStorage.removeItem(KEY)
    return text === null ? null : (JSON.parse(text) as Position)
  } catch {
    return null
  }
}
