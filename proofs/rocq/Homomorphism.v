(* The programs commute with any homomorphism of number types: what is computed in one representation of the numbers *)
(* is what the theorems talk about in another.                                                                       *)
From mathcomp Require Import all_ssreflect.
From Draftproof Require Import Programs Trees Verifiers Schemes.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Section Homomorphism.
Variables (F G : ops) (h : F -> G).
Hypotheses (h0 : h (o0 F) = o0 G) (h1 : h (o1 F) = o1 G).
Hypothesis hadd : forall a b, h (oadd a b) = oadd (h a) (h b).
Hypothesis hsub : forall a b, h (osub a b) = osub (h a) (h b).
Hypothesis hmul : forall a b, h (omul a b) = omul (h a) (h b).
Hypothesis hdiv : forall a b, h (odiv a b) = odiv (h a) (h b).
Hypothesis hmin : forall a b, h (omin a b) = omin (h a) (h b).
Hypothesis hz : forall a, oz (h a) = oz a.

Definition dmap A (m : dist F A) : dist G A := [seq (h w.1, w.2) | w <- m].

Lemma dmap_ret A (a : A) : dmap (ret F a) = ret G a.
Proof. by rewrite /dmap /= h1. Qed.
Lemma dmap_bind A B (m : dist F A) (f : A -> dist F B) f' :
  (forall a, f' a = dmap (f a)) -> dmap (bind m f) = bind (dmap m) f'.
Proof.
move=> ff'; rewrite /dmap /bind map_flatten -!map_comp; congr flatten.
apply: eq_map => w /=; rewrite hz; case: ifP => // _; rewrite ff' /dmap -!map_comp; apply: eq_map => u /=.
by rewrite hmul.
Qed.
Lemma dmap_flip a : dmap (flip a) = flip (h a).
Proof. by rewrite /dmap /= hsub h1. Qed.

Variables (V : Type) (vs : seq V).
Lemma dmap_draw p p' : p' =1 h \o p -> dmap (draw vs p) = draw (F := G) vs p'.
Proof. by move=> reach; rewrite /dmap /draw -map_comp; apply: eq_map => x /=; rewrite reach. Qed.

Section Step.
Variables (pi : F) (pi' : G) (p q : V -> F) (p' q' : V -> G).
Hypotheses (ei : pi' = h pi) (ep : p' =1 h \o p) (eq : q' =1 h \o q).
Lemma h_acc x : acc pi' p' q' x = h (acc pi p q x).
Proof. by rewrite /acc ep eq ei /= hz; case: ifP; rewrite ?hmin ?hdiv ?hmul ?h1. Qed.
Lemma h_excess x : excess pi' p' q' x = h (excess pi p q x).
Proof. by rewrite /excess ep eq ei /= hsub hmin hmul. Qed.
Lemma h_exmass : exmass vs pi' p' q' = h (exmass vs pi p q).
Proof. by rewrite /exmass; elim: vs => //= x r ->; rewrite hadd h_excess. Qed.
Lemma h_res : res vs pi' p' q' =1 h \o res vs pi p q.
Proof. by move=> x /=; rewrite /res h_exmass hz; case: ifP; rewrite ?ep //= hdiv h_excess. Qed.
Lemma h_respi : respi vs pi' p' q' = h (respi vs pi p q).
Proof. by rewrite /respi h_exmass hz; case: ifP; rewrite ?h0 // hdiv hadd hsub h1 ei. Qed.
End Step.

(* the same tree in both number types; the same scheme *)
Fixpoint dsame (d : dtree F V) (d' : dtree G V) : Prop :=
  match d, d' with
  | Leaf, Leaf => True
  | Draft q c n, Draft q' c' n' => [/\ q' =1 h \o q, forall x, dsame (c x) (c' x) & forall x, dsame (n x) (n' x)]
  | _, _ => False
  end.
Definition osame (r : option (V -> F)) (r' : option (V -> G)) : Prop :=
  match r, r' with Some a, Some b => b =1 h \o a | None, None => True | _, _ => False end.

Lemma dsame_drafted sch sch' t s : (forall t s e, osame (sch t s e) (sch' t s e)) ->
  dsame (drafted sch t s) (drafted sch' t s).
Proof.
move=> ss; move: t s; fix IH 1 => -[l0] s /=.
move: l0 {1 2}(Slot l0) [::]; fix IHl 1 => -[|c l] t e /=; first exact: I.
case: (sch t s e) (sch' t s e) (ss t s e) => [r|] [r'|] rr; [|case: rr|case: rr|exact: I].
by split=> [|x|x]; [exact: rr|exact: IH|exact: IHl].
Qed.

Variables (p : seq V -> V -> F) (p' : seq V -> V -> G).
Hypothesis ep : forall s, p' s =1 h \o p s.

Lemma h_recursive_rejection d d' pt pt' s : dsame d d' -> pt' =1 h \o pt ->
  recursive_rejection vs p' d' pt' s = dmap (recursive_rejection vs p d pt s).
Proof.
elim: d d' pt pt' s => [|q c IHc n IHn] [|q' c' n'] pt pt' s //= => [_|[eq ec en]] e; apply/esym.
  by rewrite -(dmap_draw e); apply: dmap_bind => x; rewrite dmap_ret.
rewrite -(dmap_draw eq); apply: dmap_bind => x; apply/esym.
rewrite (@dmap_bind _ _ _ _ (fun b : bool => if b then bind (recursive_rejection vs p' (c' x) (p' (rcons s x)) (rcons s x))
   (fun t => ret G (x :: t)) else recursive_rejection vs p' (n' x) (res vs (o1 G) pt' q') s)) => [|[]].
- by rewrite dmap_flip (h_acc (pi := o1 F) (p := pt) (q := q) _ e) // h1.
- rewrite (IHc _ _ _ _ _ (ec x) (ep _)); apply/esym; apply: dmap_bind => t; by rewrite dmap_ret.
by apply: IHn => //; apply: h_res; rewrite ?h1.
Qed.

Lemma h_traversal d d' pi pt pt' s : dsame d d' -> pt' =1 h \o pt ->
  traversal vs p' d' (h pi) pt' s = dmap (traversal vs p d pi pt s).
Proof.
elim: d d' pi pt pt' s => [|q c IHc n IHn] [|q' c' n'] pi pt pt' s //= => [_|[eq ec en]] e; apply/esym.
  rewrite -dmap_flip; apply: dmap_bind => -[]; last by rewrite dmap_ret.
  by rewrite -(dmap_draw e); apply/esym; apply: dmap_bind => x; rewrite dmap_ret.
rewrite -(dmap_draw eq); apply: dmap_bind => x.
rewrite (h_acc (pi := pi) (p := pt) (q := q) _ e) // (IHc _ _ _ _ _ _ (ec x) (ep _)).
apply/esym; apply: dmap_bind => -[b|]; first by rewrite dmap_ret.
by rewrite (h_respi (pi := pi) (p := pt) (q := q) _ e) //; apply: IHn => //; apply: h_res.
Qed.

Lemma h_emitted (m : dist F (option (seq V))) : emitted (dmap m) = dmap (emitted m).
Proof. by apply/esym/dmap_bind => -[b|]; rewrite ?dmap_ret. Qed.

Lemma h_drawn d d' : dsame d d' -> drawn vs d' = dmap (drawn vs d).
Proof.
elim: d d' => [|q c IHc n IHn] [|q' c' n'] //= => [_|[eq ec en]]; first by rewrite /dmap /= h1.
rewrite -(dmap_draw eq); apply/esym; apply: dmap_bind => x; rewrite (IHc _ _ (ec x)).
apply/esym; apply: dmap_bind => lc; rewrite (IHn _ _ (en x)).
by apply/esym; apply: dmap_bind => ln; rewrite dmap_ret.
Qed.

Lemma h_AR m s : AR vs p' m s = dmap (AR vs p m s).
Proof.
elim: m s => [|m IH] s /=; first by rewrite /dmap /= h1.
apply/esym; rewrite -(dmap_draw (ep _)); apply: dmap_bind => x; rewrite IH.
by apply/esym; apply: dmap_bind => t; rewrite dmap_ret.
Qed.

Lemma h_predraw_follow T n s : predraw_follow vs p' T n s = dmap (predraw_follow vs p T n s).
Proof.
elim: n s => [|n IH] s /=; apply/esym; rewrite -(dmap_draw (ep _)); apply: dmap_bind => x.
  by rewrite dmap_ret.
case: (T _); last by rewrite dmap_ret.
by rewrite IH; apply/esym; apply: dmap_bind => t; rewrite dmap_ret.
Qed.

Lemma h_outside T s x : outside p' T s x = h (outside p T s x).
Proof. by rewrite /outside; case: ifP => _; rewrite ?h0 ?ep. Qed.
Lemma h_rho T s : rho vs p' T s = h (rho vs p T s).
Proof. by rewrite /rho; elim: vs => //= x r ->; rewrite hadd h_outside. Qed.
Lemma h_reach s t : reach p' s t = h (reach p s t).
Proof. by elim: t s => //= x t IH s; rewrite hmul IH ep. Qed.

Lemma h_tree_exit T nodes : tree_exit vs p' T nodes = dmap (tree_exit vs p T nodes).
Proof.
rewrite /tree_exit; have -> : exit_law vs p' T nodes = dmap (exit_law vs p T nodes).
  by rewrite /exit_law /dmap -map_comp; apply: eq_map => v /=; rewrite hmul h_reach h_rho.
apply/esym; apply: dmap_bind => v; rewrite -(@dmap_draw (residual vs p T v) (residual vs p' T v)) => [|x].
  by apply/esym; apply: dmap_bind => x; rewrite dmap_ret.
by rewrite /= /residual hdiv h_outside h_rho.
Qed.
End Homomorphism.

(* the whole block law *)
Section BlockLaw.
Variables (F G : ops) (h : F -> G).
Hypotheses (h0 : h (o0 F) = o0 G) (h1 : h (o1 F) = o1 G).
Hypothesis hadd : forall a b, h (oadd a b) = oadd (h a) (h b).
Hypothesis hsub : forall a b, h (osub a b) = osub (h a) (h b).
Hypothesis hmul : forall a b, h (omul a b) = omul (h a) (h b).
Hypothesis hdiv : forall a b, h (odiv a b) = odiv (h a) (h b).
Hypothesis hmin : forall a b, h (omin a b) = omin (h a) (h b).
Hypothesis hz : forall a, oz (h a) = oz a.
Variables (V : eqType) (vs : seq V) (p : seq V -> V -> F) (p' : seq V -> V -> G).
Hypothesis ep : forall s, p' s =1 h \o p s.

Theorem h_block_law r sch sch' t : (forall t s e, osame h (sch t s e) (sch' t s e)) ->
  block_law vs p' r sch' t = dmap h (block_law vs p r sch t).
Proof.
move=> ss; have dd := dsame_drafted t [::] ss.
case: r => /=.
- rewrite (h_drawn h1 hmul hz vs dd); apply/esym/(dmap_bind hmul hz) => l.
  exact: (h_predraw_follow h1 hmul hz vs ep).
- rewrite (h_drawn h1 hmul hz vs dd); apply/esym/(dmap_bind hmul hz) => l.
  exact: (h_tree_exit h0 h1 hadd hmul hdiv hz vs ep).
- apply: (h_recursive_rejection (h := h)) => //.
rewrite -h1; have -> : traversal vs p' (drafted sch' t [::]) (h (o1 F)) (p' [::]) [::]
  = dmap h (traversal vs p (drafted sch t [::]) (o1 F) (p [::]) [::]) by apply: h_traversal.
exact: h_emitted.
Qed.
End BlockLaw.

(* the schemes commute too *)
Section Schemes.
Variables (F G : ops) (h : F -> G).
Hypotheses (h0 : h (o0 F) = o0 G) (h1 : h (o1 F) = o1 G).
Hypothesis hadd : forall a b, h (oadd a b) = oadd (h a) (h b).
Hypothesis hsub : forall a b, h (osub a b) = osub (h a) (h b).
Hypothesis hdiv : forall a b, h (odiv a b) = odiv (h a) (h b).
Hypothesis hmin : forall a b, h (omin a b) = omin (h a) (h b).
Hypothesis hz : forall a, oz (h a) = oz a.
Variables (V : eqType) (vs : seq V) (q : seq V -> V -> F) (q' : seq V -> V -> G).
Hypothesis eq : forall s, q' s =1 h \o q s.
Local Notation osame := (osame h).

Lemma h_point (x : V) : point G x =1 h \o point F x.
Proof. by move=> y /=; rewrite /point; case: ifP => _; rewrite ?h0 ?h1. Qed.

Lemma h_ole a b : ole (h a) (h b) = ole a b.
Proof. by rewrite /ole -hmin -hsub hz. Qed.

Lemma h_ranked r r' : r' =1 h \o r -> ranked vs r' = ranked vs r.
Proof.
move=> e; rewrite /ranked (eq_filter (a2 := fun x => ~~ oz (r x))) => [|x]; last by rewrite e /= hz.
have m : {mono id : x y / ole (r y) (r x) >-> ole (r' y) (r' x)} by move=> x y; rewrite !e /= h_ole.
by have := map_sort m [seq x <- vs | ~~ oz (r x)]; rewrite !map_id.
Qed.

Lemma h_without l r r' : r' =1 h \o r -> osame (without vs l r) (without vs l r').
Proof.
move=> e; have off y : (if y \in l then o0 G else r' y) = h (if y \in l then o0 F else r y).
  by case: ifP => _; rewrite ?h0 ?e.
have Z : osum [seq if y \in l then o0 G else r' y | y <- vs] = h (osum [seq if y \in l then o0 F else r y | y <- vs]).
  by elim: vs => //= y s ->; rewrite hadd off.
by rewrite /without Z hz; case: ifP => // _ y /=; rewrite hdiv off.
Qed.

Lemma h_with_replacement t s e : osame (with_replacement q t s e) (with_replacement q' t s e).
Proof. by move=> x /=; rewrite eq. Qed.
Lemma h_without_replacement t s e : osame (without_replacement vs q t s e) (without_replacement vs q' t s e).
Proof. exact: h_without. Qed.
Lemma h_top_k t s e : osame (top_k vs q t s e) (top_k vs q' t s e).
Proof. by rewrite /top_k (h_ranked (eq s)); case: drop => // x l; apply: h_point. Qed.
Lemma h_greedy t s e : osame (greedy vs q t s e) (greedy vs q' t s e).
Proof.
rewrite /greedy; case: (without vs e (q s)) (without vs e (q' s)) (h_without e (eq s)) => [r|] [r'|] //= rr.
by case: ifP => // _; rewrite (h_ranked rr); case: ranked => // x l; apply: h_point.
Qed.
Lemma h_fixed (tree : seq (seq V)) t s e : osame (fixed F tree t s e) (fixed G tree t s e).
Proof. by rewrite /fixed; case: drop => // x l; apply: h_point. Qed.

Theorem h_scheme n t s e : osame (scheme_of vs q n t s e) (scheme_of vs q' n t s e).
Proof.
case: n => [||||tree]; [exact: h_with_replacement|exact: h_without_replacement|exact: h_top_k|exact: h_greedy|exact: h_fixed].
Qed.
End Schemes.
