import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  type VirtualItem,
  Virtualizer
} from '@tanstack/virtual-core'
import { useLayoutEffect, useReducer, useRef } from 'preact/hooks'

export interface VirtualRows {
  readonly items: readonly VirtualItem[]
  /** Height of all rows in pixels. */
  readonly height: number
  /** Reference of a row's element, which measures its height. */
  readonly measure: (element: HTMLElement | null) => void
  scrollTo(index: number): void
}

/** Draws only the visible rows of a list. `height`: expected height of a row in pixels. */
export function useVirtualRows(
  scroller: { readonly current: HTMLElement | null },
  count: number,
  height: number
): VirtualRows {
  const [, redraw] = useReducer<number, void>(value => value + 1, 0)
  const held = useRef<Virtualizer<HTMLElement, HTMLElement> | null>(null)
  const options = {
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => height,
    overscan: 10,
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    onChange: () => redraw()
  }
  held.current ??= new Virtualizer<HTMLElement, HTMLElement>(options)
  const virtualizer = held.current
  virtualizer.setOptions(options)
  useLayoutEffect(() => virtualizer._didMount(), [])
  useLayoutEffect(() => virtualizer._willUpdate())
  return {
    items: virtualizer.getVirtualItems(),
    height: virtualizer.getTotalSize(),
    measure: element => virtualizer.measureElement(element),
    scrollTo: index => virtualizer.scrollToIndex(index, { align: 'auto' })
  }
}
