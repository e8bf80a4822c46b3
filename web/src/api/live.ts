/* Fresh data: server-sent events, or a poll every 15 s where no stream comes through. */
import { effect, signal } from "@preact/signals";
import { forgetAhead } from "../base/ahead";
import { session } from "./client";

export type Topic = "run" | "alert" | "job" | "bisection" | "environment";
export type LiveState = "live" | "polling" | "connecting";

const TOPICS: readonly Topic[] = ["run", "alert", "job", "bisection", "environment"];
const POLL_MS = 15_000;
const SETTLE_MS = 400; /* a run brings several events; one refresh serves them all */

export const liveState = signal<LiveState>("connecting");
/** The newest event, for screen readers. */
export const liveNews = signal("");

const listeners = new Map<Topic, Set<() => void>>(TOPICS.map((t) => [t, new Set<() => void>()]));
const waiting = new Set<() => void>();
let settling: number | undefined;

/** Calls `refresh` after an event on any of the topics; returns a function that ends the subscription. */
export function onNews(topics: readonly Topic[], refresh: () => void): () => void {
  for (const t of topics) listeners.get(t)?.add(refresh);
  return () => {
    for (const t of topics) listeners.get(t)?.delete(refresh);
    waiting.delete(refresh);
  };
}

function announce(topic: Topic): void {
  forgetAhead();
  for (const refresh of listeners.get(topic) ?? []) waiting.add(refresh);
  settling ??= window.setTimeout(() => {
    settling = undefined;
    const now = [...waiting];
    waiting.clear();
    for (const refresh of now) refresh();
  }, SETTLE_MS);
}

const NEWS: Record<Topic, string> = { run: "A run was stored.", alert: "An alert changed.", job: "A job changed.", bisection: "A bisection went on.",
  environment: "A machine moved, or stands still again." };

/** Opens the stream, again after every sign-in and sign-out: EventSource sends the session cookie. */
export function startLive(): void {
  let source: EventSource | null = null;
  window.setInterval(() => {
    if (liveState.value !== "live" && !document.hidden) for (const t of TOPICS) announce(t);
  }, POLL_MS);
  effect(() => {
    source?.close();
    void session.value;
    liveState.value = "connecting";
    open();
  });

  function open(): void {
    const stream = new EventSource("/api/v1/events");
    source = stream;
    stream.onopen = () => { liveState.value = "live"; };
    stream.onerror = () => { liveState.value = "polling"; };
    /* Events may have been missed while the stream was down: reload all data on view. */
    stream.addEventListener("reset", () => { for (const t of TOPICS) announce(t); });
    for (const topic of TOPICS) {
      stream.addEventListener(topic, () => {
        if (topic !== "job") liveNews.value = NEWS[topic];
        announce(topic);
      });
    }
  }
}
