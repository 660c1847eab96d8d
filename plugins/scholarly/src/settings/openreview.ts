/** Settings of the adapter `openreview`. */
export const openreviewSettings = {}
